"""pyforgejo: holds each response against the models of Forgejo's document, by pydantic."""

import base64

from calls import TOKENS, URL, call
from pyforgejo import PyforgejoApi


def connect(username):
    return PyforgejoApi(base_url=f"{URL}/api/v1", api_key=f"token {TOKENS[username]}")


ada, bob, carol = connect("ada"), connect("bob"), connect("carol")
HOME = ("acme", "engine")
ids = {}


def base64_of(text):
    return base64.b64encode(text.encode()).decode()


def remember(name, value):
    ids[name] = value.id
    return value


def refused(work):
    try:
        work()
    except Exception:
        return True
    return False


call("get_version", True, lambda: bob.miscellaneous.get_version().version.startswith("1."))
call("get_node_info", "2.1", lambda: bob.miscellaneous.get_node_info().version)
call("get_signing_key", True, lambda: "KEY" in bob.miscellaneous.get_signing_key())
call("get_general_api_settings", True, lambda: bob.settings.get_general_api_settings().max_response_items > 0)
call("get_general_ui_settings", True, lambda: len(bob.settings.get_general_ui_settings().allowed_reactions) > 0)
call("list_gitignores_templates", True, lambda: "Go" in bob.miscellaneous.list_gitignores_templates())
call("list_license_templates", True, lambda: len(bob.miscellaneous.list_license_templates()) > 0)
call("user.get_current", "bob", lambda: bob.user.get_current().login)
call("user.get", "carol", lambda: bob.user.get("carol").login)
call("user.search", ["carol"], lambda: [u.login for u in bob.user.search(q="caro").data])
call("user.list_emails", ["bob@example.org"], lambda: [e.email for e in bob.user.list_emails()])
call("user.get_user_settings", "", lambda: bob.user.get_user_settings().location)
call("user.get_tokens is refused to tokens of other users", True, lambda: refused(lambda: carol.user.get_tokens("bob")))
call("org_create", "acme", lambda: bob.organization.org_create(username="acme").username)
call("org_get", "acme", lambda: bob.organization.org_get("acme").username)
call("org_list_current_user_orgs", ["acme"], lambda: [o.username for o in bob.organization.org_list_current_user_orgs()])
call("org_get_user_permissions", True, lambda: bob.organization.org_get_user_permissions("bob", "acme").is_owner)
call(
    "create_org_repo",
    "acme/engine",
    lambda: bob.organization.create_org_repo("acme", name="engine", auto_init=True, default_branch="main").full_name,
)
call(
    "org_create_team",
    "brakes",
    lambda: remember(
        "team",
        bob.organization.org_create_team("acme", name="brakes", permission="write", units=["repo.code", "repo.pulls"]),
    ).name,
)
call("org_add_team_member", None, lambda: bob.organization.org_add_team_member(ids["team"], "carol"))
call("org_list_team_members", ["carol"], lambda: [u.login for u in bob.organization.org_list_team_members(ids["team"])])
call("org_add_team_repository", None, lambda: bob.organization.org_add_team_repository(ids["team"], *HOME))
call("repo_get", "main", lambda: bob.repository.repo_get(*HOME).default_branch)
call("repo_edit", "Fast", lambda: bob.repository.repo_edit(*HOME, description="Fast").description)
call("repo_search", ["engine"], lambda: [r.name for r in bob.repository.repo_search(q="engine").data])
call("current_list_repos", ["engine"], lambda: [r.name for r in bob.user.current_list_repos()])
call(
    "repo_create_file",
    "a.txt",
    lambda: bob.repository.repo_create_file(*HOME, "a.txt", content=base64_of("a\n"), message="Add a").content.path,
)
call(
    "repo_get_contents",
    "a\n",
    lambda: base64.b64decode(bob.repository.repo_get_contents(*HOME, "a.txt").content).decode(),
)
call("repo_get_raw_file", "a\n", lambda: b"".join(bob.repository.repo_get_raw_file(*HOME, "a.txt")).decode())
call("repo_get_all_commits", 2, lambda: len(bob.repository.repo_get_all_commits(*HOME)))
call("repo_create_branch", "feature", lambda: bob.repository.repo_create_branch(*HOME, new_branch_name="feature").name)
call("repo_list_branches", ["feature", "main"], lambda: sorted(b.name for b in bob.repository.repo_list_branches(*HOME)))
call("get_tree", ["README.md", "a.txt"], lambda: [e.path for e in bob.repository.get_tree(*HOME, "main").tree])
call("repo_create_tag", "v1", lambda: bob.repository.repo_create_tag(*HOME, tag_name="v1", target="main").name)
call(
    "repo_create_status",
    "success",
    lambda: bob.repository.repo_create_status(
        *HOME, bob.repository.repo_get_branch(*HOME, "main").commit.id, state="success", context="ci"
    ).status,
)
call("repo_get_combined_status_by_ref", "success", lambda: bob.repository.repo_get_combined_status_by_ref(*HOME, "main").state)
call(
    "repo_create_branch_protection",
    "release/*",
    lambda: bob.repository.repo_create_branch_protection(*HOME, rule_name="release/*", required_approvals=1).rule_name,
)
call("repo_add_collaborator", None, lambda: bob.repository.repo_add_collaborator(*HOME, "carol", permission="write"))
call("repo_get_assignees", ["bob", "carol"], lambda: sorted(u.login for u in bob.repository.repo_get_assignees(*HOME)))
call(
    "repo_create_hook",
    ["push"],
    lambda: remember(
        "hook",
        bob.repository.repo_create_hook(
            *HOME,
            type="forgejo",
            config={"url": "http://127.0.0.1:9/hook", "content_type": "json"},
            events=["push"],
            active=False,
        ),
    ).events,
)
call("repo_list_hooks", 1, lambda: len(bob.repository.repo_list_hooks(*HOME)))
call("repo_delete_hook", None, lambda: bob.repository.repo_delete_hook(*HOME, ids["hook"]))
call("create_label", "bug", lambda: remember("label", bob.issue.create_label(*HOME, name="bug", color="#ee0701")).name)
call("create_milestone", "v1", lambda: bob.issue.create_milestone(*HOME, title="v1").title)


def open_pull():
    bob.repository.repo_create_file(
        *HOME, "f.txt", content=base64_of("f\n"), branch="feature", message="Add f"
    )
    return bob.repository.repo_create_pull_request(*HOME, title="A feature", head="feature", base="main").title


call("repo_create_pull_request", "A feature", open_pull)
call("repo_list_pull_requests", [1], lambda: [p.number for p in bob.repository.repo_list_pull_requests(*HOME)])
call("repo_get_pull_request", "A feature", lambda: bob.repository.repo_get_pull_request(*HOME, 1).title)
call("repo_get_pull_request_files", ["f.txt"], lambda: [f.filename for f in bob.repository.repo_get_pull_request_files(*HOME, 1)])
call("add_label", ["bug"], lambda: [label.name for label in bob.issue.add_label(*HOME, 1, labels=[ids["label"]])])
call(
    "repo_create_pull_review",
    "APPROVED",
    lambda: carol.repository.repo_create_pull_review(*HOME, 1, event="APPROVED", body="Good").state,
)
call("create_comment", "Hello", lambda: remember("comment", carol.issue.create_comment(*HOME, 1, body="Hello")).body)
call("get_comments", ["Hello"], lambda: [c.body for c in bob.issue.get_comments(*HOME, 1)])
call("list_issues", ["A feature"], lambda: [i.title for i in bob.issue.list_issues(*HOME, type="pulls")])
call("post_comment_reaction", "eyes", lambda: bob.issue.post_comment_reaction(*HOME, ids["comment"], content="eyes").content)
call("repo_merge_pull_request", None, lambda: bob.repository.repo_merge_pull_request(*HOME, 1, do="merge"))
call("repo_pull_request_is_merged", None, lambda: bob.repository.repo_pull_request_is_merged(*HOME, 1))
call(
    "repo_create_release",
    "v1",
    lambda: remember("release", bob.repository.repo_create_release(*HOME, tag_name="v1", name="First")).tag_name,
)
call("repo_get_latest_release", "First", lambda: bob.repository.repo_get_latest_release(*HOME).name)
call("repo_delete_release", None, lambda: bob.repository.repo_delete_release(*HOME, ids["release"]))
call("create_fork", "carol/engine", lambda: carol.repository.create_fork(*HOME).full_name)
call("current_put_star", None, lambda: carol.user.current_put_star(*HOME))
call("repo_list_stargazers", ["carol"], lambda: [u.login for u in bob.repository.repo_list_stargazers(*HOME)])
call("user_current_put_subscription", True, lambda: carol.repository.user_current_put_subscription(*HOME).subscribed)
call("notify_get_list", True, lambda: isinstance(carol.notification.notify_get_list(), list))
call(
    "admin.create_user",
    "dan",
    lambda: ada.admin.create_user(
        username="dan", email="dan@example.org", password="correct horse battery", must_change_password=False
    ).login,
)
call("admin.search_users", ["ada", "bob", "carol", "dan"], lambda: sorted(u.login for u in ada.admin.search_users()))
call("admin.delete_user", None, lambda: ada.admin.delete_user("dan"))
call("repo_delete", None, lambda: bob.repository.repo_delete(*HOME))
