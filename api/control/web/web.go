// Package web holds the page of the control screen with its modules, style sheets and texts, served as they are. What it
// shares with the lane screen is rangegate/api/web, which it expects under /screens/; its own are under /control/assets/.
package web

import "embed"

// Files are the page, page.html, and what it loads, at the top of the file system.
//
//go:embed page.html *.css *.js *.svg
var Files embed.FS
