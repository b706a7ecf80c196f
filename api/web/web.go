// Package web holds the files that the control screen and the lane screen share. They are served under /screens/ as they
// are: plain CSS and ES modules, without a build step, and nothing comes from elsewhere.
package web

import "embed"

// Files are the style sheet and the modules, at the top of the file system.
//
//go:embed *.css *.js
var Files embed.FS
