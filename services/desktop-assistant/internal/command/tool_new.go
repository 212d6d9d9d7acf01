// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/desktop-assistant/internal/console"
	"example.org/desktop-assistant/services/desktop-assistant/internal/template"
	"example.org/desktop-assistant/services/desktop-assistant/internal/toolbox"
	"example.org/desktop-assistant/services/desktop-assistant/internal/usage"
)

func (a *app) toolNewCommand() *cobra.Command {
	var dir string
	c := a.jsonFlag(&cobra.Command{
		Use: "new NAME", Short: "Write a commented template of a tool into the tools folder", Args: usage.Args(1, 1),
		RunE:              func(_ *cobra.Command, given []string) error { return a.toolNew(dir, given[0]) },
		ValidArgsFunction: cobra.NoFileCompletions,
	})
	c.Flags().StringVar(&dir, "tools", "", "`folder` of the tools (default: the configured one)")
	return c
}

// made is what tool new prints as JSON.
type made struct {
	Path string   `json:"path"`
	Note string   `json:"note,omitempty"`
	Next []string `json:"next"` // command lines to go on with
}

// toolNew writes the template of a tool; a file that is there stays.
func (a *app) toolNew(dir, name string) error {
	const op = "tool new"
	if !proto.ValidToken(name) {
		return usage.New(proto.Errorf(proto.CodeInvalid, op, "%q cannot be a tool's name", name).WithHint("use 1 to 64 of A-Z a-z 0-9 _ - : desktop-assistant tool new my-tool"))
	}
	cfg, err := a.config()
	if err != nil {
		return err
	}
	folder, note, err := toolbox.Folder(cfg, dir)
	if err != nil {
		return err
	}
	path, err := template.Write(folder, name)
	if errors.Is(err, fs.ErrExist) {
		return proto.Errorf(proto.CodeInvalid, op, "%s is there already", path).WithHint("choose another name, or remove the file first: rm %s", path)
	}
	if err != nil {
		return err
	}
	flag := ""
	if dir != "" {
		flag = " --tools " + dir
	}
	m := made{Path: path, Note: note, Next: []string{
		"desktop-assistant tool check --lint" + flag,
		"desktop-assistant tool call" + flag + " " + name + ` '{"who":"Ada"}'`,
	}}
	if dir == "" {
		m.Next = append(m.Next, "desktop-assistant tool run "+name+" who=Ada")
	}
	if a.json {
		return a.printJSON(m)
	}
	c := console.New(a.Out)
	c.Println("wrote %s", m.Path)
	if m.Note != "" {
		c.Println("%s", m.Note)
	}
	c.Println("Change it to your liking, then check it, run it alone, and run it through the assistant:")
	for _, line := range m.Next {
		c.Hint(line)
	}
	return nil
}
