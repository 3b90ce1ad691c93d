// Package view shows an overview of a cluster as a page: in one file, or from a server on this machine that keeps it up
// to date.
package view

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"
)

// bundle is made of the sources in page by `make generate`.
//
//go:embed bundle
var bundle embed.FS

func asset(name string) []byte {
	content, err := bundle.ReadFile("bundle/" + name)
	if err != nil {
		panic(err) // It is part of the program.
	}
	return content
}

// Export writes one file that shows an overview, given as JSON, without a server. taken is text that says what the
// overview shows and when it was taken.
func Export(w io.Writer, overview []byte, taken string) error {
	script, style := asset("page.js"), asset("page.css")
	var data bytes.Buffer
	// Markup in names has no meaning any more: only a parser of the JSON turns \u003c back to <.
	json.HTMLEscape(&data, overview)
	policy := fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; base-uri 'none'; form-action 'none'",
		source(script), source(style))
	frame := string(asset("index.html"))
	before, after, _ := strings.Cut(frame, "<head>")
	head, rest, _ := strings.Cut(after, "</head>")
	body, end, _ := strings.Cut(rest, "</body>")
	for _, part := range []string{
		before, "<head>\n", fmt.Sprintf(`<meta http-equiv="Content-Security-Policy" content="%s">`, policy),
		head, "<style>", string(style), "</style>\n</head>", body,
		fmt.Sprintf(`<script type="application/json" id="overview" data-taken="%s">`, html.EscapeString(taken)),
		data.String(), "</script>\n",
		"<script>", string(script), "</script>\n</body>", end,
	} {
		if _, err := io.WriteString(w, part); err != nil {
			return err
		}
	}
	return nil
}

// source is what a policy calls an inline script or style with this content.
func source(content []byte) string {
	sum := sha256.Sum256(content)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// served is the page as the server sends it: script and style come by requests of their own.
func served() string {
	styled := `<link rel="stylesheet" href="page.css">` + "\n</head>"
	frame := strings.Replace(string(asset("index.html")), "</head>", styled, 1)
	return strings.Replace(frame, "</body>", `<script src="page.js"></script>`+"\n</body>", 1)
}
