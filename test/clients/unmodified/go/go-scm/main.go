// The Gitea driver of drone/go-scm, which Drone and Harness use.
package main

import (
	"context"
	"encoding/base64"
	"net/http"
	"sort"
	"strings"
	"time"

	"branchline.example/calls"
	"github.com/drone/go-scm/scm"
	"github.com/drone/go-scm/scm/driver/gitea"
	"github.com/drone/go-scm/scm/transport"
)

const home = "acme/engine"

type object = map[string]any

var ctx = context.Background()

func main() {
	setting := calls.ReadSetting()
	setting.Ask("bob", "POST", "/orgs", object{"username": "acme"})
	setting.Ask("bob", "POST", "/orgs/acme/repos", object{"name": "engine", "auto_init": true, "default_branch": "main"})
	add(setting, ".drone.yml", "main", "kind: pipeline\n")
	add(setting, "src/main.go", "main", "package main\n")
	setting.Ask("bob", "POST", "/repos/acme/engine/tags", object{"tag_name": "v1.0.0", "target": "main"})

	client, err := gitea.New(setting.URL)
	if err != nil {
		panic(err)
	}
	client.Client = &http.Client{Transport: &transport.BearerToken{Token: setting.Tokens["bob"]}}
	readAccounts(client)
	readRepositories(client)
	readCode(client)
	keepMilestones(client)
	keepReleases(client)
	receiveHooks(setting, client)
	mergePulls(setting, client)
}

func add(setting calls.Setting, path, branch, text string) {
	setting.Ask("bob", "POST", "/repos/acme/engine/contents/"+path, object{
		"content": base64.StdEncoding.EncodeToString([]byte(text)), "branch": branch, "message": "Add " + path,
	})
}

func readAccounts(client *scm.Client) {
	calls.Call("Users.Find", object{"login": "bob", "email": "bob@example.org"}, func() (any, error) {
		user, _, err := client.Users.Find(ctx)
		return object{"login": user.Login, "email": user.Email}, err
	})
	calls.Call("Users.FindLogin", "carol", func() (any, error) {
		user, _, err := client.Users.FindLogin(ctx, "carol")
		return user.Login, err
	})
	calls.Call("Users.FindEmail", "bob@example.org", func() (any, error) {
		email, _, err := client.Users.FindEmail(ctx)
		return email, err
	})
	calls.Call("Organizations.Find", "acme", func() (any, error) {
		organization, _, err := client.Organizations.Find(ctx, "acme")
		return organization.Name, err
	})
	calls.Call("Organizations.List", []string{"acme"}, func() (any, error) {
		organizations, _, err := client.Organizations.List(ctx, scm.ListOptions{})
		names := []string{}
		for _, organization := range organizations {
			names = append(names, organization.Name)
		}
		return names, err
	})
	calls.Call("Organizations.FindMembership", object{"active": true, "role": "admin"}, func() (any, error) {
		membership, _, err := client.Organizations.FindMembership(ctx, "acme", "bob")
		return object{"active": membership.Active, "role": membership.Role.String()}, err
	})
}

func readRepositories(client *scm.Client) {
	calls.Call("Repositories.Find", object{"namespace": "acme", "name": "engine", "branch": "main"}, func() (any, error) {
		repository, _, err := client.Repositories.Find(ctx, home)
		return object{"namespace": repository.Namespace, "name": repository.Name, "branch": repository.Branch}, err
	})
	calls.Call("Repositories.FindPerms", object{"pull": true, "push": true, "admin": true}, func() (any, error) {
		permissions, _, err := client.Repositories.FindPerms(ctx, home)
		return object{"pull": permissions.Pull, "push": permissions.Push, "admin": permissions.Admin}, err
	})
	names := func(repositories []*scm.Repository) []string {
		names := []string{}
		for _, repository := range repositories {
			names = append(names, repository.Namespace+"/"+repository.Name)
		}
		return names
	}
	calls.Call("Repositories.List", []string{home}, func() (any, error) {
		repositories, _, err := client.Repositories.List(ctx, scm.ListOptions{Page: 1, Size: 50})
		return names(repositories), err
	})
	calls.Call("Repositories.ListV2", []string{home}, func() (any, error) {
		repositories, _, err := client.Repositories.ListV2(ctx, scm.RepoListOptions{})
		return names(repositories), err
	})
	calls.Call("Repositories.ListNamespace", []string{home}, func() (any, error) {
		repositories, _, err := client.Repositories.ListNamespace(ctx, "acme", scm.ListOptions{})
		return names(repositories), err
	})
}

func readCode(client *scm.Client) {
	commit := ""
	calls.Call("Git.FindBranch", object{"name": "main", "path": "refs/heads/main", "sha": 40}, func() (any, error) {
		branch, _, err := client.Git.FindBranch(ctx, home, "main")
		commit = branch.Sha
		return object{"name": branch.Name, "path": branch.Path, "sha": len(branch.Sha)}, err
	})
	calls.Call("Git.ListBranches", []string{"main"}, func() (any, error) {
		branches, _, err := client.Git.ListBranches(ctx, home, scm.ListOptions{})
		return references(branches), err
	})
	calls.Call("Git.ListBranchesV2", []string{"main"}, func() (any, error) {
		branches, _, err := client.Git.ListBranchesV2(ctx, home, scm.BranchListOptions{})
		return references(branches), err
	})
	calls.Call("Git.FindCommit", "Add src/main.go", func() (any, error) {
		found, _, err := client.Git.FindCommit(ctx, home, commit)
		return strings.TrimSpace(found.Message), err
	})
	calls.Call("Git.ListCommits", 3, func() (any, error) {
		commits, _, err := client.Git.ListCommits(ctx, home, scm.CommitListOptions{Ref: "main"})
		return len(commits), err
	})
	calls.Call("Git.ListTags", []string{"v1.0.0"}, func() (any, error) {
		tags, _, err := client.Git.ListTags(ctx, home, scm.ListOptions{})
		return references(tags), err
	})
	calls.Call("Contents.Find", "kind: pipeline\n", func() (any, error) {
		content, _, err := client.Contents.Find(ctx, home, ".drone.yml", commit)
		return string(content.Data), err
	})
	calls.Call("Contents.Find at a branch", "kind: pipeline\n", func() (any, error) {
		content, _, err := client.Contents.Find(ctx, home, ".drone.yml", "refs/heads/main")
		return string(content.Data), err
	})
	calls.Call("Contents.List", []string{".drone.yml", "README.md", "src"}, func() (any, error) {
		entries, _, err := client.Contents.List(ctx, home, "", "main", scm.ListOptions{})
		paths := []string{}
		for _, entry := range entries {
			paths = append(paths, entry.Path)
		}
		sort.Strings(paths)
		return paths, err
	})
	calls.Call("Repositories.CreateStatus", true, func() (any, error) {
		input := &scm.StatusInput{State: scm.StateSuccess, Label: "continuous-integration/drone", Target: "https://ci.example.org/1"}
		status, _, err := client.Repositories.CreateStatus(ctx, home, commit, input)
		return status.State == scm.StateSuccess, err
	})
	calls.Call("Repositories.ListStatus", []string{"continuous-integration/drone"}, func() (any, error) {
		statuses, _, err := client.Repositories.ListStatus(ctx, home, commit, scm.ListOptions{})
		labels := []string{}
		for _, status := range statuses {
			labels = append(labels, status.Label)
		}
		return labels, err
	})
}

func references(found []*scm.Reference) []string {
	names := []string{}
	for _, reference := range found {
		names = append(names, reference.Name)
	}
	return names
}

func keepMilestones(client *scm.Client) {
	id := 0
	// The driver returns no milestone that has no due date.
	due := time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC)
	calls.Call("Milestones.Create", "v1", func() (any, error) {
		milestone, _, err := client.Milestones.Create(ctx, home, &scm.MilestoneInput{Title: "v1", State: "open", DueDate: due})
		id = milestone.ID
		return milestone.Title, err
	})
	calls.Call("Milestones.Find", "v1", func() (any, error) {
		milestone, _, err := client.Milestones.Find(ctx, home, id)
		return milestone.Title, err
	})
	calls.Call("Milestones.List", 1, func() (any, error) {
		milestones, _, err := client.Milestones.List(ctx, home, scm.MilestoneListOptions{Open: true})
		return len(milestones), err
	})
	calls.Call("Milestones.Update", "First", func() (any, error) {
		milestone, _, err := client.Milestones.Update(ctx, home, id, &scm.MilestoneInput{Title: "v1", Description: "First"})
		return milestone.Description, err
	})
	calls.Call("Milestones.Delete", http.StatusNoContent, func() (any, error) {
		response, err := client.Milestones.Delete(ctx, home, id)
		return response.Status, err
	})
}

func keepReleases(client *scm.Client) {
	id := 0
	calls.Call("Releases.Create", "First", func() (any, error) {
		release, _, err := client.Releases.Create(ctx, home, &scm.ReleaseInput{Title: "First", Tag: "v1.0.0", Commitish: "main"})
		id = release.ID
		return release.Title, err
	})
	calls.Call("Releases.Find", "v1.0.0", func() (any, error) {
		release, _, err := client.Releases.Find(ctx, home, id)
		return release.Tag, err
	})
	calls.Call("Releases.FindByTag", "First", func() (any, error) {
		release, _, err := client.Releases.FindByTag(ctx, home, "v1.0.0")
		return release.Title, err
	})
	calls.Call("Releases.List", 1, func() (any, error) {
		releases, _, err := client.Releases.List(ctx, home, scm.ReleaseListOptions{})
		return len(releases), err
	})
	calls.Call("Releases.Update", "Second", func() (any, error) {
		release, _, err := client.Releases.Update(ctx, home, id, &scm.ReleaseInput{Title: "Second", Tag: "v1.0.0"})
		return release.Title, err
	})
	calls.Call("Releases.UpdateByTag", "Third", func() (any, error) {
		release, _, err := client.Releases.UpdateByTag(ctx, home, "v1.0.0", &scm.ReleaseInput{Title: "Third"})
		return release.Title, err
	})
	calls.Call("Releases.DeleteByTag", http.StatusNoContent, func() (any, error) {
		response, err := client.Releases.DeleteByTag(ctx, home, "v1.0.0")
		return response.Status, err
	})
}

func receiveHooks(setting calls.Setting, client *scm.Client) {
	const secret = "hunter2"
	receiver := calls.StartReceiver()
	id := ""
	events := scm.HookEvents{Push: true, Branch: true, Tag: true, PullRequest: true, IssueComment: true}
	calls.Call("Repositories.CreateHook", true, func() (any, error) {
		hook, _, err := client.Repositories.CreateHook(ctx, home, &scm.HookInput{Name: "drone", Target: receiver.URL, Secret: secret, Events: events})
		id = hook.ID
		return hook.Active && strings.HasPrefix(hook.Target, receiver.URL), err
	})
	calls.Call("Repositories.FindHook", true, func() (any, error) {
		hook, _, err := client.Repositories.FindHook(ctx, home, id)
		return hook.Active, err
	})
	calls.Call("Repositories.ListHooks", 1, func() (any, error) {
		hooks, _, err := client.Repositories.ListHooks(ctx, home, scm.ListOptions{})
		return len(hooks), err
	})
	parse := func(event string) (scm.Webhook, error) {
		request, err := receiver.Next(event)
		if err != nil {
			return nil, err
		}
		return client.Webhooks.Parse(request, func(scm.Webhook) (string, error) { return secret, nil })
	}
	calls.Call("Webhooks.Parse of a push", object{"ref": "refs/heads/main", "message": "Add a.txt", "sender": "bob"}, func() (any, error) {
		add(setting, "a.txt", "main", "a\n")
		hook, err := parse("push")
		if err != nil {
			return nil, err
		}
		push := hook.(*scm.PushHook)
		return object{"ref": push.Ref, "message": strings.TrimSpace(push.Commit.Message), "sender": push.Sender.Login}, nil
	})
	calls.Call("Webhooks.Parse of a new branch", "feature", func() (any, error) {
		setting.Ask("bob", "POST", "/repos/acme/engine/branches", object{"new_branch_name": "feature"})
		hook, err := parse("create")
		if err != nil {
			return nil, err
		}
		return hook.(*scm.BranchHook).Ref.Name, nil
	})
	calls.Call("Webhooks.Parse of a new tag", "v2.0.0", func() (any, error) {
		setting.Ask("bob", "POST", "/repos/acme/engine/tags", object{"tag_name": "v2.0.0", "target": "main"})
		hook, err := parse("create")
		if err != nil {
			return nil, err
		}
		return hook.(*scm.TagHook).Ref.Name, nil
	})
	calls.Call("Webhooks.Parse of a pull request", object{"action": "opened", "title": "A feature", "source": "feature"}, func() (any, error) {
		add(setting, "feature.txt", "feature", "feature\n")
		input := &scm.PullRequestInput{Title: "A feature", Source: "feature", Target: "main"}
		if _, _, err := client.PullRequests.Create(ctx, home, input); err != nil {
			return nil, err
		}
		hook, err := parse("pull_request")
		if err != nil {
			return nil, err
		}
		pull := hook.(*scm.PullRequestHook)
		return object{"action": pull.Action.String(), "title": pull.PullRequest.Title, "source": pull.PullRequest.Source}, nil
	})
	calls.Call("Webhooks.Parse of a comment", "Hello", func() (any, error) {
		setting.Ask("carol", "POST", "/repos/acme/engine/issues/1/comments", object{"body": "Hello"})
		hook, err := parse("issue_comment")
		if err != nil {
			return nil, err
		}
		switch comment := hook.(type) {
		case *scm.PullRequestCommentHook:
			return comment.Comment.Body, nil
		case *scm.IssueCommentHook:
			return comment.Comment.Body, nil
		}
		return nil, scm.ErrUnknownEvent
	})
	calls.Call("Repositories.UpdateHook", true, func() (any, error) {
		input := &scm.HookInput{Target: receiver.URL, Secret: secret, Events: scm.HookEvents{Push: true}}
		hook, _, err := client.Repositories.UpdateHook(ctx, home, id, input)
		return hook.Active, err
	})
	calls.Call("Repositories.DeleteHook", http.StatusNoContent, func() (any, error) {
		response, err := client.Repositories.DeleteHook(ctx, home, id)
		return response.Status, err
	})
}

func mergePulls(setting calls.Setting, client *scm.Client) {
	calls.Call("PullRequests.Create", object{"number": 2, "source": "other", "target": "main"}, func() (any, error) {
		setting.Ask("bob", "POST", "/repos/acme/engine/branches", object{"new_branch_name": "other"})
		add(setting, "other.txt", "other", "other\n")
		pull, _, err := client.PullRequests.Create(ctx, home, &scm.PullRequestInput{Title: "Other", Source: "other", Target: "main"})
		return object{"number": pull.Number, "source": pull.Source, "target": pull.Target}, err
	})
	calls.Call("PullRequests.Find", object{"title": "A feature", "ref": "refs/pull/1/head", "fork": home}, func() (any, error) {
		pull, _, err := client.PullRequests.Find(ctx, home, 1)
		return object{"title": pull.Title, "ref": pull.Ref, "fork": pull.Fork}, err
	})
	calls.Call("PullRequests.List", 2, func() (any, error) {
		pulls, _, err := client.PullRequests.List(ctx, home, scm.PullRequestListOptions{Open: true})
		return len(pulls), err
	})
	calls.Call("Issues.CreateComment", "Built", func() (any, error) {
		comment, _, err := client.Issues.CreateComment(ctx, home, 1, &scm.CommentInput{Body: "Built"})
		return comment.Body, err
	})
	calls.Call("Issues.ListComments", 2, func() (any, error) {
		comments, _, err := client.Issues.ListComments(ctx, home, 1, scm.ListOptions{})
		return len(comments), err
	})
	calls.Call("Issues.DeleteComment", http.StatusNoContent, func() (any, error) {
		comments, _, err := client.Issues.ListComments(ctx, home, 1, scm.ListOptions{})
		if err != nil {
			return nil, err
		}
		response, err := client.Issues.DeleteComment(ctx, home, 1, comments[1].ID)
		return response.Status, err
	})
	calls.Call("Issues.Find", "A feature", func() (any, error) {
		issue, _, err := client.Issues.Find(ctx, home, 1)
		return issue.Title, err
	})
	calls.Call("PullRequests.Merge", true, func() (any, error) {
		if _, err := client.PullRequests.Merge(ctx, home, 1); err != nil {
			return nil, err
		}
		pull, _, err := client.PullRequests.Find(ctx, home, 1)
		return pull.Merged, err
	})
}
