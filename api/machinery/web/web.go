// Package web holds the page of the machinery with its modules and style sheet, served as they are. What it shares with the
// screens is rangegate/api/web, which it expects under /screens/; its own are under /assets/.
package web

import "embed"

// Files are the page, page.html, and what it loads, at the top of the file system.
//
//go:embed page.html *.css *.js *.svg
var Files embed.FS
