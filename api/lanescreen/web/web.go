// Package web holds the page of the lane screen with its modules, style sheet and texts, served as they are. What it shares
// with the control screen is rangegate/api/web, which it expects under /screens/; its own are under /lane/assets/.
package web

import "embed"

// Files are the pages, lane.html and refused.html, and what they load, at the top of the file system.
//
//go:embed *.html *.css *.js
var Files embed.FS
