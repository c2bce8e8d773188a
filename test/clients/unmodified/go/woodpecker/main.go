// Woodpecker's driver for Gitea: all that a Woodpecker server asks of a forge.
package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"branchline.example/calls"
	"go.woodpecker-ci.org/woodpecker/server"
	"go.woodpecker-ci.org/woodpecker/server/forge"
	"go.woodpecker-ci.org/woodpecker/server/forge/gitea"
	"go.woodpecker-ci.org/woodpecker/server/model"
)

const host = "https://ci.example.org"

type object = map[string]any

func main() {
	setting := calls.ReadSetting()
	server.Config.Server.Host = host
	server.Config.Server.OAuthHost = host
	server.Config.Server.StatusContext = "ci/woodpecker"
	server.Config.Server.StatusContextFormat = "{{ .context }}/{{ .event }}/{{ .workflow }}"
	prepare(setting)
	application := setting.Ask("ada", "POST", "/user/applications/oauth2", object{
		"name": "Woodpecker", "confidential_client": true, "redirect_uris": []string{host + "/authorize"},
	})
	driver, err := gitea.New(gitea.Opts{
		URL:    setting.URL,
		Client: application["client_id"].(string),
		Secret: application["client_secret"].(string),
	})
	if err != nil {
		panic(err)
	}
	user := signIn(setting, driver)
	repo := readRepositories(driver, user)
	readCode(driver, user, repo)
	runPipelines(setting, driver, user, repo)
}

func prepare(setting calls.Setting) {
	setting.Ask("bob", "POST", "/orgs", object{"username": "acme"})
	setting.Ask("bob", "POST", "/orgs/acme/repos", object{"name": "engine", "auto_init": true, "default_branch": "main"})
	add(setting, ".woodpecker.yml", "main", "pipeline: {}\n")
	add(setting, ".woodpecker/build.yml", "main", "build\n")
	add(setting, ".woodpecker/test.yml", "main", "test\n")
}

func add(setting calls.Setting, path, branch, text string) {
	setting.Ask("bob", "POST", "/repos/acme/engine/contents/"+path, object{
		"content": base64.StdEncoding.EncodeToString([]byte(text)), "branch": branch, "message": "Add " + path,
	})
}

func signIn(setting calls.Setting, driver forge.Forge) *model.User {
	ctx := context.Background()
	var user *model.User
	calls.Call("Login redirects to the forge", http.StatusSeeOther, func() (any, error) {
		answer := httptest.NewRecorder()
		_, err := driver.Login(ctx, answer, httptest.NewRequest("GET", "/authorize", nil))
		return answer.Code, err
	})
	calls.Call("Login", object{"login": "bob", "email": "bob@example.org", "expires": true}, func() (any, error) {
		answer := httptest.NewRecorder()
		if _, err := driver.Login(ctx, answer, httptest.NewRequest("GET", "/authorize", nil)); err != nil {
			return nil, err
		}
		location, err := setting.SignIn("bob", answer.Header().Get("Location"))
		if err != nil {
			return nil, err
		}
		user, err = driver.Login(ctx, answer, httptest.NewRequest("GET", "/authorize?"+location.RawQuery, nil))
		if err != nil {
			return nil, err
		}
		return object{"login": user.Login, "email": user.Email, "expires": user.Expiry > time.Now().Unix()}, nil
	})
	calls.Call("Auth", "bob", func() (any, error) { return driver.Auth(ctx, user.Token, user.Secret) })
	calls.Call("Refresh", true, func() (any, error) {
		user.Expiry = time.Now().Unix() - 1
		before := user.Token
		refreshed, err := driver.(forge.Refresher).Refresh(ctx, user)
		return refreshed && user.Token != before, err
	})
	return user
}

func readRepositories(driver forge.Forge, user *model.User) *model.Repo {
	ctx := context.Background()
	calls.Call("Teams", []string{"acme"}, func() (any, error) {
		teams, err := driver.Teams(ctx, user)
		names := []string{}
		for _, team := range teams {
			names = append(names, team.Login)
		}
		return names, err
	})
	calls.Call("Repos", []string{"acme/engine"}, func() (any, error) {
		repos, err := driver.Repos(ctx, user)
		names := []string{}
		for _, repo := range repos {
			names = append(names, repo.FullName)
		}
		return names, err
	})
	var repo *model.Repo
	expected := object{"name": "acme/engine", "branch": "main", "admin": true, "push": true}
	calls.Call("Repo", expected, func() (any, error) {
		found, err := driver.Repo(ctx, user, "", "acme", "engine")
		if err != nil {
			return nil, err
		}
		repo = found
		return object{
			"name": found.FullName, "branch": found.Branch, "admin": found.Perm.Admin, "push": found.Perm.Push,
		}, nil
	})
	calls.Call("Repo by its id", "acme/engine", func() (any, error) {
		found, err := driver.Repo(ctx, user, repo.ForgeRemoteID, "", "")
		if err != nil {
			return nil, err
		}
		return found.FullName, nil
	})
	calls.Call("Netrc", "127.0.0.1", func() (any, error) {
		netrc, err := driver.Netrc(user, repo)
		if err != nil {
			return nil, err
		}
		return netrc.Machine, nil
	})
	calls.Call("Org", "acme", func() (any, error) {
		org, err := driver.Org(ctx, user, "acme")
		if err != nil {
			return nil, err
		}
		return org.Name, nil
	})
	calls.Call("Org that is a user", true, func() (any, error) {
		org, err := driver.Org(ctx, user, "bob")
		if err != nil {
			return nil, err
		}
		return org.IsUser, nil
	})
	calls.Call("OrgMembership", object{"member": true, "admin": true}, func() (any, error) {
		permission, err := driver.OrgMembership(ctx, user, "acme")
		return permission, err
	})
	return repo
}

func readCode(driver forge.Forge, user *model.User, repo *model.Repo) {
	ctx := context.Background()
	commit := ""
	calls.Call("BranchHead", 40, func() (any, error) {
		head, err := driver.BranchHead(ctx, user, repo, "main")
		commit = head
		return len(head), err
	})
	calls.Call("Branches", []string{"main"}, func() (any, error) {
		return driver.Branches(ctx, user, repo, &model.ListOptions{Page: 1, PerPage: 50})
	})
	calls.Call("File", "pipeline: {}\n", func() (any, error) {
		text, err := driver.File(ctx, user, repo, &model.Pipeline{Commit: commit}, ".woodpecker.yml")
		return string(text), err
	})
	calls.Call("File that does not exist", true, func() (any, error) {
		_, err := driver.File(ctx, user, repo, &model.Pipeline{Commit: commit}, "absent.yml")
		return err != nil, nil
	})
	calls.Call("Dir", []string{".woodpecker/build.yml: build\n", ".woodpecker/test.yml: test\n"}, func() (any, error) {
		files, err := driver.Dir(ctx, user, repo, &model.Pipeline{Commit: commit}, ".woodpecker")
		texts := []string{}
		for _, file := range files {
			texts = append(texts, file.Name+": "+string(file.Data))
		}
		return texts, err
	})
}

func runPipelines(setting calls.Setting, driver forge.Forge, user *model.User, repo *model.Repo) {
	ctx := context.Background()
	receiver := calls.StartReceiver()
	repo.Hash = "hunter2"
	calls.Call("Activate", nil, func() (any, error) { return nil, driver.Activate(ctx, user, repo, receiver.URL) })

	parse := func(event string) (*model.Repo, *model.Pipeline, error) {
		request, err := receiver.Next(event)
		if err != nil {
			return nil, nil, err
		}
		return driver.Hook(ctx, request)
	}
	var pushed *model.Pipeline
	pushes := object{"repo": "acme/engine", "event": "push", "branch": "main", "message": "Add a.txt", "files": []string{"a.txt"}}
	calls.Call("Hook of a push", pushes, func() (any, error) {
		add(setting, "a.txt", "main", "a\n")
		from, pipeline, err := parse("push")
		if err != nil {
			return nil, err
		}
		pushed = pipeline
		return object{
			"repo": from.FullName, "event": pipeline.Event, "branch": pipeline.Branch,
			"message": strings.TrimSpace(pipeline.Message), "files": pipeline.ChangedFiles,
		}, nil
	})
	calls.Call("Hook of a tag", object{"event": "tag", "ref": "refs/tags/v1.0.0"}, func() (any, error) {
		setting.Ask("bob", "POST", "/repos/acme/engine/tags", object{"tag_name": "v1.0.0", "target": "main"})
		_, pipeline, err := parse("create")
		if err != nil {
			return nil, err
		}
		return object{"event": pipeline.Event, "ref": pipeline.Ref}, nil
	})
	opened := object{"event": "pull_request", "branch": "main", "ref": "refs/pull/1/head", "title": "A feature", "refspec": "feature:main"}
	calls.Call("Hook of a pull request", opened, func() (any, error) {
		setting.Ask("bob", "POST", "/repos/acme/engine/branches", object{"new_branch_name": "feature"})
		add(setting, "feature.txt", "feature", "feature\n")
		setting.Ask("bob", "POST", "/repos/acme/engine/pulls", object{"title": "A feature", "head": "feature", "base": "main"})
		_, pipeline, err := parse("pull_request")
		if err != nil {
			return nil, err
		}
		return object{
			"event": pipeline.Event, "branch": pipeline.Branch, "ref": pipeline.Ref,
			"title": pipeline.Title, "refspec": pipeline.Refspec,
		}, nil
	})
	calls.Call("PullRequests", []string{"1 A feature"}, func() (any, error) {
		pulls, err := driver.PullRequests(ctx, user, repo, &model.ListOptions{Page: 1, PerPage: 50})
		titles := []string{}
		for _, pull := range pulls {
			titles = append(titles, fmt.Sprintf("%d %s", pull.Index, pull.Title))
		}
		return titles, err
	})
	report := func(state model.StatusValue) func() (any, error) {
		return func() (any, error) {
			workflow := &model.Workflow{PID: 1, Name: "build", State: state}
			if err := driver.Status(ctx, user, repo, pushed, workflow); err != nil {
				return nil, err
			}
			combined := setting.Ask("bob", "GET", "/repos/acme/engine/commits/"+pushed.Commit+"/status", nil)
			return combined["state"], nil
		}
	}
	calls.Call("Status of a pending workflow", "pending", report(model.StatusPending))
	calls.Call("Status of a running workflow", "pending", report(model.StatusRunning))
	calls.Call("Status of a workflow that succeeded", "success", report(model.StatusSuccess))
	calls.Call("Status of a workflow that failed", "failure", report(model.StatusFailure))
	calls.Call("Deactivate", 0, func() (any, error) {
		if err := driver.Deactivate(ctx, user, repo, receiver.URL); err != nil {
			return nil, err
		}
		return countHooks(setting), nil
	})
}

func countHooks(setting calls.Setting) int {
	return len(setting.List("bob", "/repos/acme/engine/hooks"))
}
