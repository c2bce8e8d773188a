// @ts-nocheck The two clients have the same methods and different types.
import { readFile } from 'node:fs/promises'
import { call, pick } from './calls.mjs'

const HOME = ['acme', 'engine']

/** Some methods of both clients send JSON as `text/plain` otherwise, which Gitea refuses, too. */
const JSON_BODY = { type: 'application/json' }

const base64 = (/** @type {string} */ text) => Buffer.from(text).toString('base64')

/**
 * The calls of gitea-js and forgejo-js, which have the same methods. Bob owns the organisation acme
 * with the repository engine, ada administers the server, carol reviews.
 * @param {(username: string) => any} connect returns a client of a user
 */
export async function makeCalls(connect) {
  const [ada, bob, carol] = ['ada', 'bob', 'carol'].map(connect)
  await makeInstanceCalls(ada, bob)
  await makeAccountCalls(ada, bob)
  await makeOrganizationCalls(bob)
  await makeRepositoryCalls(bob, carol)
  await makeContentCalls(bob)
  await makeProtectionCalls(bob)
  await makePullCalls(bob, carol)
  await makeIssueCalls(bob, carol)
  await makeReleaseCalls(bob)
  await makeHookCalls(ada, bob)
  await makeSocialCalls(bob, carol)
  await makeTransferCalls(bob, carol)
  await makeAdminCalls(ada)
}

async function makeInstanceCalls(ada, bob) {
  const pageSize = 'number'
  await call('getVersion', true, async () =>
    /^1\.\d+\.\d+/.test((await bob.version.getVersion()).data.version),
  )
  await call('getNodeInfo', '2.1', async () => (await bob.nodeinfo.getNodeInfo()).data.version)
  await call('getGeneralApiSettings', pageSize, async () => {
    const { data } = await bob.settings.getGeneralApiSettings()
    return typeof data.max_response_items
  })
  await call('getGeneralRepositorySettings', 'boolean', async () => {
    const { data } = await bob.settings.getGeneralRepositorySettings()
    return typeof data.migrations_disabled
  })
  await call('getGeneralUiSettings', true, async () =>
    Array.isArray((await bob.settings.getGeneralUiSettings()).data.allowed_reactions),
  )
  await call('getGeneralAttachmentSettings', pageSize, async () => {
    const { data } = await bob.settings.getGeneralAttachmentSettings()
    return typeof data.max_size
  })
  await call('listGitignoresTemplates', true, async () =>
    (await bob.gitignore.listGitignoresTemplates()).data.includes('Go'),
  )
  await call(
    'getGitignoreTemplateInfo',
    'Go',
    async () => (await bob.gitignore.getGitignoreTemplateInfo('Go')).data.name,
  )
  await call('listLicenseTemplates', true, async () =>
    (await bob.licenses.listLicenseTemplates()).data.some(({ key }) => key === 'MIT'),
  )
  await call('getLicenseTemplateInfo', true, async () =>
    (await bob.licenses.getLicenseTemplateInfo('MIT')).data.body.includes('without restriction'),
  )
  await call('listLabelTemplates', true, async () =>
    (await bob.label.listLabelTemplates()).data.includes('Default'),
  )
  await call('renderMarkdown', true, async () => {
    const draft = { Text: '# Engine', Mode: 'markdown' }
    return (await bob.markdown.renderMarkdown(draft, { format: 'text' })).data.includes('<h1')
  })
  await call('adminSearchUsers', ['ada', 'bob', 'carol'], async () =>
    (await ada.admin.adminSearchUsers()).data.map(({ login }) => login).sort(),
  )
}

async function makeAccountCalls(ada, bob) {
  await call('userGetCurrent', { login: 'bob', email: 'bob@example.org' }, async () =>
    pick((await bob.user.userGetCurrent()).data, 'login', 'email'),
  )
  await call('userGet', 'ada', async () => (await bob.users.userGet('ada')).data.login)
  await call('userSearch', ['carol'], async () =>
    (await bob.users.userSearch({ q: 'caro' })).data.data.map(({ login }) => login),
  )
  await call('getUserSettings', '', async () => (await bob.user.getUserSettings()).data.location)
  await call(
    'updateUserSettings',
    'Paris',
    async () => (await bob.user.updateUserSettings({ location: 'Paris' })).data.location,
  )
  await call('userListEmails', ['bob@example.org'], async () =>
    (await bob.user.userListEmails()).data.map(({ email }) => email),
  )
  const key = await readKey('ed25519.pub')
  let keyId = 0
  await call('userCurrentPostKey', 'laptop', async () => {
    const { data } = await bob.user.userCurrentPostKey({ title: 'laptop', key })
    keyId = data.id
    return data.title
  })
  await call('userCurrentListKeys', ['laptop'], async () =>
    (await bob.user.userCurrentListKeys()).data.map(({ title }) => title),
  )
  await call('userListKeys', 1, async () => (await ada.users.userListKeys('bob')).data.length)
  await call(
    'userCurrentGetKey',
    'laptop',
    async () => (await bob.user.userCurrentGetKey(keyId)).data.title,
  )
  await call(
    'userCurrentDeleteKey',
    204,
    async () => (await bob.user.userCurrentDeleteKey(keyId)).status,
  )
  await call(
    'userCurrentListGpgKeys',
    [],
    async () => (await bob.user.userCurrentListGpgKeys()).data,
  )
  await call('userCreateOAuth2Application', 'ci', async () => {
    const draft = { name: 'ci', redirect_uris: ['https://ci.example.org/authorize'] }
    return (await bob.user.userCreateOAuth2Application(draft, JSON_BODY)).data.name
  })
  await call('userGetOauth2Application', ['ci'], async () =>
    (await (bob.user.userGetOauth2Application ?? bob.user.userGetOAuth2Applications)()).data.map(
      ({ name }) => name,
    ),
  )
  await call('userListBlocks', [], async () =>
    bob.user.userListBlocks
      ? (await bob.user.userListBlocks()).data
      : (await bob.user.userListBlockedUsers()).data,
  )
}

async function makeOrganizationCalls(bob) {
  await call(
    'orgCreate',
    'acme',
    async () =>
      (await bob.orgs.orgCreate({ username: 'acme', full_name: 'Acme Ltd' })).data.username,
  )
  await call('orgGet', 'Acme Ltd', async () => (await bob.orgs.orgGet('acme')).data.full_name)
  await call(
    'orgEdit',
    'Brakes',
    async () => (await bob.orgs.orgEdit('acme', { description: 'Brakes' })).data.description,
  )
  await call('orgGetAll', ['acme'], async () =>
    (await bob.orgs.orgGetAll()).data.map(({ name }) => name),
  )
  await call('orgListCurrentUserOrgs', ['acme'], async () =>
    (await bob.user.orgListCurrentUserOrgs()).data.map(({ name }) => name),
  )
  await call('orgListUserOrgs', ['acme'], async () =>
    (await bob.users.orgListUserOrgs('bob')).data.map(({ name }) => name),
  )
  await call('orgGetUserPermissions', { is_owner: true, is_admin: true }, async () =>
    pick((await bob.users.orgGetUserPermissions('bob', 'acme')).data, 'is_owner', 'is_admin'),
  )
  await call('createOrgRepo', 'acme/engine', async () => {
    const draft = { name: 'engine', auto_init: true, default_branch: 'main', description: 'Fast' }
    return (await bob.orgs.createOrgRepo('acme', draft)).data.full_name
  })
  let team = 0
  await call('orgCreateTeam', 'brakes', async () => {
    const { data } = await bob.orgs.orgCreateTeam('acme', {
      name: 'brakes',
      permission: 'write',
      units: ['repo.code', 'repo.pulls'],
    })
    team = data.id
    return data.name
  })
  await call('orgListTeams', ['Owners', 'brakes'], async () =>
    (await bob.orgs.orgListTeams('acme')).data.map(({ name }) => name).sort(),
  )
  await call('teamSearch', ['brakes'], async () =>
    (await bob.orgs.teamSearch('acme', { q: 'brak' })).data.data.map(({ name }) => name),
  )
  await call(
    'orgEditTeam',
    'Stops',
    async () =>
      (await bob.teams.orgEditTeam(team, { name: 'brakes', description: 'Stops' })).data
        .description,
  )
  await call(
    'orgAddTeamMember',
    204,
    async () => (await bob.teams.orgAddTeamMember(team, 'carol')).status,
  )
  await call('orgListTeamMembers', ['carol'], async () =>
    (await bob.teams.orgListTeamMembers(team)).data.map(({ login }) => login),
  )
  await call(
    'orgAddTeamRepository',
    204,
    async () => (await bob.teams.orgAddTeamRepository(team, 'acme', 'engine')).status,
  )
  await call('orgListTeamRepos', ['engine'], async () =>
    (await bob.teams.orgListTeamRepos(team)).data.map(({ name }) => name),
  )
  await call('orgListMembers', ['bob', 'carol'], async () =>
    (await bob.orgs.orgListMembers('acme')).data.map(({ login }) => login).sort(),
  )
  await call('orgIsMember', 204, async () => (await bob.orgs.orgIsMember('acme', 'carol')).status)
  await call(
    'orgPublicizeMember',
    204,
    async () => (await bob.orgs.orgPublicizeMember('acme', 'bob')).status,
  )
  await call(
    'orgCreateLabel',
    'bug',
    async () =>
      (await bob.orgs.orgCreateLabel('acme', { name: 'bug', color: '#ee0701' })).data.name,
  )
  await call('orgListLabels', ['bug'], async () =>
    (await bob.orgs.orgListLabels('acme')).data.map(({ name }) => name),
  )
  await call('orgListRepos', ['engine'], async () =>
    (await bob.orgs.orgListRepos('acme')).data.map(({ name }) => name),
  )
}

async function makeRepositoryCalls(bob, carol) {
  await call('repoGet', { full_name: 'acme/engine', default_branch: 'main' }, async () =>
    pick((await bob.repos.repoGet(...HOME)).data, 'full_name', 'default_branch'),
  )
  await call('repoGetById', 'acme/engine', async () => {
    const { data } = await bob.repos.repoGet(...HOME)
    return (await bob.repositories.repoGetById(data.id)).data.full_name
  })
  await call('repoEdit', { description: 'Faster', has_pull_requests: true }, async () =>
    pick(
      (await bob.repos.repoEdit(...HOME, { description: 'Faster', allow_squash_merge: true })).data,
      ...['description', 'has_pull_requests'],
    ),
  )
  await call('repoSearch', ['engine'], async () =>
    (await bob.repos.repoSearch({ q: 'engi' })).data.data.map(({ name }) => name),
  )
  await call('createCurrentUserRepo', 'bob/notes', async () => {
    const draft = { name: 'notes', private: true }
    return (await bob.user.createCurrentUserRepo(draft)).data.full_name
  })
  await call('userCurrentListRepos', ['acme/engine', 'bob/notes'], async () =>
    (await bob.user.userCurrentListRepos()).data.map(({ full_name }) => full_name).sort(),
  )
  await call('userListRepos', ['notes'], async () =>
    (await bob.users.userListRepos('bob')).data.map(({ name }) => name),
  )
  await call(
    'repoAddCollaborator',
    204,
    async () =>
      (await bob.repos.repoAddCollaborator(...HOME, 'carol', { permission: 'write' })).status,
  )
  await call('repoListCollaborators', ['carol'], async () =>
    (await bob.repos.repoListCollaborators(...HOME)).data.map(({ login }) => login),
  )
  await call(
    'repoCheckCollaborator',
    204,
    async () => (await bob.repos.repoCheckCollaborator(...HOME, 'carol')).status,
  )
  await call(
    'repoGetRepoPermissions',
    'write',
    async () => (await bob.repos.repoGetRepoPermissions(...HOME, 'carol')).data.permission,
  )
  await call('repoGetAssignees', ['bob', 'carol'], async () =>
    (await bob.repos.repoGetAssignees(...HOME)).data.map(({ login }) => login).sort(),
  )
  await call('repoGetReviewers', ['carol'], async () =>
    (await bob.repos.repoGetReviewers(...HOME)).data
      .map(({ login }) => login)
      .filter((login) => login !== 'bob'),
  )
  await call('repoListTeams', ['Owners', 'brakes'], async () =>
    (await bob.repos.repoListTeams(...HOME)).data.map(({ name }) => name).sort(),
  )
  await call(
    'repoUpdateTopics',
    204,
    async () => (await bob.repos.repoUpdateTopics(...HOME, { topics: ['steam'] })).status,
  )
  await call(
    'repoAddTopic',
    204,
    async () => (await bob.repos.repoAddTopic(...HOME, 'wheels')).status,
  )
  await call(
    'repoListTopics',
    ['steam', 'wheels'],
    async () => (await bob.repos.repoListTopics(...HOME)).data.topics,
  )
  await call('topicSearch', ['steam'], async () =>
    (await bob.topics.topicSearch({ q: 'stea' })).data.topics.map(({ topic_name }) => topic_name),
  )
  await call(
    'issueCreateLabel',
    'urgent',
    async () =>
      (await bob.repos.issueCreateLabel(...HOME, { name: 'urgent', color: '#ff0000' })).data.name,
  )
  await call('issueListLabels', ['urgent'], async () =>
    (await bob.repos.issueListLabels(...HOME)).data.map(({ name }) => name),
  )
  await call(
    'issueCreateMilestone',
    'v1',
    async () => (await bob.repos.issueCreateMilestone(...HOME, { title: 'v1' })).data.title,
  )
  await call('issueGetMilestonesList', ['v1'], async () =>
    (await bob.repos.issueGetMilestonesList(...HOME)).data.map(({ title }) => title),
  )
  await call('repoCreateKey', 'deploy', async () => {
    const draft = { title: 'deploy', key: await readKey('rsa.pub'), read_only: true }
    return (await bob.repos.repoCreateKey(...HOME, draft)).data.title
  })
  await call('repoListKeys', ['deploy'], async () =>
    (await bob.repos.repoListKeys(...HOME)).data.map(({ title }) => title),
  )
  await call(
    'createFork',
    'carol/engine',
    async () => (await carol.repos.createFork(...HOME, {})).data.full_name,
  )
  await call('listForks', ['carol/engine'], async () =>
    (await bob.repos.listForks(...HOME)).data.map(({ full_name }) => full_name),
  )
}

async function makeContentCalls(bob) {
  let sha = ''
  await call('repoCreateFile', { status: 201, path: 'src/main.go' }, async () => {
    const { status, data } = await bob.repos.repoCreateFile(...HOME, 'src/main.go', {
      content: base64('package main\n'),
      message: 'Add main',
    })
    sha = data.content.sha
    return { status, path: data.content.path }
  })
  await call('repoUpdateFile', 'Change main', async () => {
    const { data } = await bob.repos.repoUpdateFile(...HOME, 'src/main.go', {
      content: base64('package main\n\nfunc main() {}\n'),
      message: 'Change main',
      sha,
    })
    return data.commit.message.trim()
  })
  await call('repoChangeFiles', ['a.txt', 'b.txt'], async () => {
    const files = ['a.txt', 'b.txt'].map((path) => ({
      operation: 'create',
      path,
      content: base64(path),
    }))
    const { data } = await bob.repos.repoChangeFiles(...HOME, { files, message: 'Two files' })
    return data.files.map(({ path }) => path)
  })
  await call('repoGetContents', 'package main\n\nfunc main() {}\n', async () => {
    const { data } = await bob.repos.repoGetContents(...HOME, 'src/main.go')
    return Buffer.from(data.content, 'base64').toString()
  })
  await call('repoGetContentsList', ['README.md', 'a.txt', 'b.txt', 'src'], async () =>
    (await bob.repos.repoGetContentsList(...HOME)).data.map(({ name }) => name).sort(),
  )
  await call(
    'repoGetRawFile',
    'a.txt',
    async () => (await bob.repos.repoGetRawFile(...HOME, 'a.txt', {}, { format: 'text' })).data,
  )
  await call('repoDeleteFile', 200, async () => {
    const { data } = await bob.repos.repoGetContents(...HOME, 'b.txt')
    const draft = { sha: data.sha, message: 'Remove b' }
    return (await bob.repos.repoDeleteFile(...HOME, 'b.txt', draft)).status
  })
  await call('repoGetAllCommits', ['Remove b', 'Two files', 'Change main'], async () =>
    (await bob.repos.repoGetAllCommits(...HOME, { limit: 3 })).data.map(({ commit }) =>
      commit.message.trim(),
    ),
  )
  await call('repoGetSingleCommit', 'Remove b', async () =>
    (await bob.repos.repoGetSingleCommit(...HOME, 'main')).data.commit.message.trim(),
  )
  await call('repoListAllGitRefs', ['refs/heads/main'], async () =>
    (await bob.repos.repoListAllGitRefs(...HOME)).data.map(({ ref }) => ref),
  )
  await call('getTree', ['README.md', 'a.txt', 'src', 'src/main.go'], async () =>
    (await bob.repos.getTree(...HOME, 'main', { recursive: true })).data.tree.map(
      ({ path }) => path,
    ),
  )
  await call('getBlob', 'base64', async () => {
    const { data } = await bob.repos.repoGetContents(...HOME, 'a.txt')
    return (await bob.repos.getBlob(...HOME, data.sha)).data.encoding
  })
  await call('repoCreateBranch', 'feature', async () => {
    const draft = { new_branch_name: 'feature', old_branch_name: 'main' }
    return (await bob.repos.repoCreateBranch(...HOME, draft)).data.name
  })
  await call('repoListBranches', ['feature', 'main'], async () =>
    (await bob.repos.repoListBranches(...HOME)).data.map(({ name }) => name).sort(),
  )
  await call(
    'repoGetBranch',
    'feature',
    async () => (await bob.repos.repoGetBranch(...HOME, 'feature')).data.name,
  )
  await call('repoCreateStatus', 'success', async () => {
    const { data } = await bob.repos.repoGetBranch(...HOME, 'main')
    const draft = { state: 'success', context: 'ci/build', target_url: 'https://ci.example.org/1' }
    return (await bob.repos.repoCreateStatus(...HOME, data.commit.id, draft)).data.status
  })
  await call('repoGetCombinedStatusByRef', { state: 'success', total_count: 1 }, async () =>
    pick(
      (await bob.repos.repoGetCombinedStatusByRef(...HOME, 'main')).data,
      ...['state', 'total_count'],
    ),
  )
  await call('repoListStatusesByRef', ['ci/build'], async () =>
    (await bob.repos.repoListStatusesByRef(...HOME, 'main')).data.map(({ context }) => context),
  )
  await call('repoCreateTag', 'v1.0.0', async () => {
    const draft = { tag_name: 'v1.0.0', message: 'First', target: 'main' }
    return (await bob.repos.repoCreateTag(...HOME, draft)).data.name
  })
  await call('repoListTags', ['v1.0.0'], async () =>
    (await bob.repos.repoListTags(...HOME)).data.map(({ name }) => name),
  )
  await call('getAnnotatedTag', 'First', async () => {
    const { data } = await bob.repos.repoGetTag(...HOME, 'v1.0.0')
    return (await bob.repos.getAnnotatedTag(...HOME, data.id)).data.message.trim()
  })
  await call(
    'repoCompareDiff',
    0,
    async () => (await bob.repos.repoCompareDiff(...HOME, 'main...feature')).data.total_commits,
  )
  await call('repoGetLanguages', ['Go'], async () =>
    Object.keys((await bob.repos.repoGetLanguages(...HOME)).data),
  )
  await call('repoGetEditorConfig', '404', async () =>
    bob.repos.repoGetEditorConfig(...HOME, 'a.txt').then(
      ({ status }) => String(status),
      ({ status }) => String(status),
    ),
  )
}

async function makeProtectionCalls(bob) {
  await call('repoCreateBranchProtection', 'release/*', async () => {
    const draft = { rule_name: 'release/*', required_approvals: 1 }
    return (await bob.repos.repoCreateBranchProtection(...HOME, draft)).data.rule_name
  })
  await call('repoListBranchProtection', ['release/*'], async () =>
    (await bob.repos.repoListBranchProtection(...HOME)).data.map(({ rule_name }) => rule_name),
  )
  await call('repoEditBranchProtection', 2, async () => {
    const draft = { required_approvals: 2 }
    const { data } = await bob.repos.repoEditBranchProtection(...HOME, 'release/*', draft)
    return data.required_approvals
  })
  await call(
    'repoDeleteBranchProtection',
    204,
    async () => (await bob.repos.repoDeleteBranchProtection(...HOME, 'release/*')).status,
  )
  await call('repoCreateTagProtection', 'v*', async () => {
    const draft = { name_pattern: 'v*', whitelist_usernames: ['bob'] }
    return (await bob.repos.repoCreateTagProtection(...HOME, draft)).data.name_pattern
  })
  await call('repoListTagProtection', ['v*'], async () =>
    (await bob.repos.repoListTagProtection(...HOME)).data.map(({ name_pattern }) => name_pattern),
  )
}

async function makePullCalls(bob, carol) {
  await bob.repos.repoCreateFile(...HOME, 'feature.txt', {
    content: base64('feature\n'),
    branch: 'feature',
    message: 'Feature',
  })
  let number = 0
  await call('repoCreatePullRequest', 'open', async () => {
    const draft = { title: 'A feature', head: 'feature', base: 'main', body: 'See #1' }
    const { data } = await bob.repos.repoCreatePullRequest(...HOME, draft)
    number = data.number
    return data.state
  })
  await call('repoListPullRequests', ['A feature'], async () =>
    (await bob.repos.repoListPullRequests(...HOME)).data.map(({ title }) => title),
  )
  await call(
    'repoGetPullRequest',
    'A feature',
    async () => (await bob.repos.repoGetPullRequest(...HOME, number)).data.title,
  )
  await call(
    'repoGetPullRequestByBaseHead',
    'A feature',
    async () =>
      (await bob.repos.repoGetPullRequestByBaseHead(...HOME, 'main', 'feature')).data.title,
  )
  await call('repoEditPullRequest', ['urgent'], async () => {
    const { data: labels } = await bob.repos.issueListLabels(...HOME)
    const draft = { labels: labels.map(({ id }) => id), assignees: ['carol'] }
    const { data } = await bob.repos.repoEditPullRequest(...HOME, number, draft)
    return data.labels.map(({ name }) => name)
  })
  await call(
    'repoGetPullRequestCommits',
    1,
    async () => (await bob.repos.repoGetPullRequestCommits(...HOME, number)).data.length,
  )
  await call('repoGetPullRequestFiles', ['feature.txt'], async () =>
    (await bob.repos.repoGetPullRequestFiles(...HOME, number)).data.map(({ filename }) => filename),
  )
  await call('repoCreatePullReviewRequests', ['carol'], async () => {
    const draft = { reviewers: ['carol'] }
    const { data } = await bob.repos.repoCreatePullReviewRequests(
      ...[...HOME, number, draft, JSON_BODY],
    )
    return data.map(({ user }) => user.login)
  })
  await call('repoCreatePullReview', 'APPROVED', async () => {
    const comments = [{ path: 'feature.txt', body: 'Good', new_position: 1 }]
    const draft = { event: 'APPROVED', body: 'Well', comments }
    return (await carol.repos.repoCreatePullReview(...HOME, number, draft)).data.state
  })
  let review = 0
  await call('repoListPullReviews', ['APPROVED'], async () => {
    const { data } = await bob.repos.repoListPullReviews(...HOME, number)
    review = data[0].id
    return data.map(({ state }) => state)
  })
  await call('repoGetPullReviewComments', ['Good'], async () =>
    (await bob.repos.repoGetPullReviewComments(...HOME, number, review)).data.map(
      ({ body }) => body,
    ),
  )
  await call(
    'issueCreateComment',
    'Hello',
    async () =>
      (await carol.repos.issueCreateComment(...HOME, number, { body: 'Hello' })).data.body,
  )
  let comment = 0
  await call('issueGetComments', ['Hello'], async () => {
    const { data } = await bob.repos.issueGetComments(...HOME, number)
    comment = data[0].id
    return data.map(({ body }) => body)
  })
  await call(
    'issueEditComment',
    'Goodbye',
    async () =>
      (await carol.repos.issueEditComment(...HOME, comment, { body: 'Goodbye' })).data.body,
  )
  await call('issueGetRepoComments', ['Goodbye'], async () =>
    (await bob.repos.issueGetRepoComments(...HOME)).data.map(({ body }) => body),
  )
  await call(
    'issueGetIssue',
    'A feature',
    async () => (await bob.repos.issueGetIssue(...HOME, number)).data.title,
  )
  await call('issueListIssues', ['A feature'], async () =>
    (await bob.repos.issueListIssues(...HOME, { type: 'pulls', state: 'all' })).data.map(
      ({ title }) => title,
    ),
  )
  await call('issueSearchIssues', ['A feature'], async () =>
    (await bob.repos.issueSearchIssues({ type: 'pulls' })).data.map(({ title }) => title),
  )
  await call('issueGetLabels', ['urgent'], async () =>
    (await bob.repos.issueGetLabels(...HOME, number)).data.map(({ name }) => name),
  )
  await call('issuePostIssueReaction', 'heart', async () => {
    const { data } = await carol.repos.issuePostIssueReaction(...HOME, number, { content: 'heart' })
    return data.content
  })
  await call('issueGetIssueReactions', ['heart'], async () =>
    (await bob.repos.issueGetIssueReactions(...HOME, number)).data.map(({ content }) => content),
  )
  await call(
    'issuePostCommentReaction',
    'eyes',
    async () =>
      (await bob.repos.issuePostCommentReaction(...HOME, comment, { content: 'eyes' })).data
        .content,
  )
  await call('issueGetCommentsAndTimeline', true, async () =>
    (await bob.repos.issueGetCommentsAndTimeline(...HOME, number)).data.some(
      ({ type }) => type === 'comment',
    ),
  )
  // 200 for those who took part, and 201 for others.
  await call(
    'issueAddSubscription',
    200,
    async () => (await carol.repos.issueAddSubscription(...HOME, number, 'carol')).status,
  )
  await call('repoUpdatePullRequest', 200, async () => {
    await bob.repos.repoCreateFile(...HOME, 'other.txt', { content: base64('other\n') })
    return (await bob.repos.repoUpdatePullRequest(...HOME, number)).status
  })
  await call(
    'repoMergePullRequest',
    200,
    async () => (await bob.repos.repoMergePullRequest(...HOME, number, { Do: 'squash' })).status,
  )
  await call(
    'repoPullRequestIsMerged',
    204,
    async () => (await bob.repos.repoPullRequestIsMerged(...HOME, number)).status,
  )
  await call('repoGetCommitPullRequest', number, async () => {
    const { data } = await bob.repos.repoGetPullRequest(...HOME, number)
    const merged = data.merge_commit_sha
    return (await bob.repos.repoGetCommitPullRequest(...HOME, merged)).data.number
  })
  await call(
    'repoDeleteBranch',
    204,
    async () => (await bob.repos.repoDeleteBranch(...HOME, 'feature')).status,
  )
}

async function makeIssueCalls(bob, carol) {
  let number = 0
  const titles = ({ data }) => data.map(({ title }) => title)
  await call('issueCreateIssue', ['A fault', 'open', null], async () => {
    const { data } = await carol.repos.issueCreateIssue(...HOME, {
      title: 'A fault',
      body: 'It is broken.',
    })
    number = data.number
    return [data.title, data.state, data.pull_request]
  })
  await call('issueListIssues of issues', ['A fault'], async () =>
    titles(await bob.repos.issueListIssues(...HOME, { type: 'issues' })),
  )
  await call('issueAddLabel to an issue', ['urgent'], async () => {
    const { data: all } = await bob.repos.issueListLabels(...HOME)
    const labels = all.map(({ id }) => id)
    const { data } = await bob.repos.issueAddLabel(...HOME, number, { labels })
    return data.map(({ name }) => name)
  })
  await call('issueEditIssueDeadline', '2030-01-02T23:59:59Z', async () => {
    const due_date = '2030-01-02T10:00:00Z'
    return (await bob.repos.issueEditIssueDeadline(...HOME, number, { due_date })).data.due_date
  })
  await call('issueEditIssue of an issue', ['A grave fault', ['bob']], async () => {
    const edit = { title: 'A grave fault', assignees: ['bob'] }
    const { data } = await bob.repos.issueEditIssue(...HOME, number, edit)
    return [data.title, data.assignees.map(({ login }) => login)]
  })
  await call('issueCreateComment on an issue', 'I see.', async () => {
    return (await bob.repos.issueCreateComment(...HOME, number, { body: 'I see.' })).data.body
  })
  const { data: other } = await bob.repos.issueCreateIssue(...HOME, { title: 'Its cause' })
  await call('issueCreateIssueDependencies', number, async () => {
    const [owner, repo] = HOME
    const { data } = await bob.repos.issueCreateIssueDependencies(
      ...HOME,
      number,
      { owner, repo, index: other.number },
      JSON_BODY,
    )
    return data.number
  })
  await call('issueListIssueDependencies', ['Its cause'], async () =>
    titles(await bob.repos.issueListIssueDependencies(...HOME, number)),
  )
  await call('issueListBlocks', ['A grave fault'], async () =>
    titles(await bob.repos.issueListBlocks(...HOME, other.number)),
  )
  await call('issueEditIssue closes an issue', 'closed', async () => {
    await bob.repos.issueEditIssue(...HOME, other.number, { state: 'closed' })
    return (await bob.repos.issueEditIssue(...HOME, number, { state: 'closed' })).data.state
  })
  await call('pinIssue', 204, async () => (await bob.repos.pinIssue(...HOME, number)).status)
  await call('repoListPinnedIssues', ['A grave fault'], async () =>
    titles(await bob.repos.repoListPinnedIssues(...HOME)),
  )
  await call('issueGetCommentsAndTimeline of an issue', true, async () => {
    const { data } = await carol.repos.issueGetCommentsAndTimeline(...HOME, number)
    const types = data.map(({ type }) => type)
    return ['comment', 'label', 'assignees', 'close', 'pin'].every((type) => types.includes(type))
  })
  await call('issueDelete', 204, async () => {
    return (await bob.repos.issueDelete(...HOME, other.number)).status
  })
}

async function makeReleaseCalls(bob) {
  let id = 0
  await call('repoCreateRelease', 'v1.1.0', async () => {
    const draft = { tag_name: 'v1.1.0', target_commitish: 'main', name: 'Second' }
    const { data } = await bob.repos.repoCreateRelease(...HOME, draft)
    id = data.id
    return data.tag_name
  })
  await call('repoListReleases', ['Second'], async () =>
    (await bob.repos.repoListReleases(...HOME)).data.map(({ name }) => name),
  )
  await call(
    'repoGetLatestRelease',
    'Second',
    async () => (await bob.repos.repoGetLatestRelease(...HOME)).data.name,
  )
  await call(
    'repoGetReleaseByTag',
    'Second',
    async () => (await bob.repos.repoGetReleaseByTag(...HOME, 'v1.1.0')).data.name,
  )
  await call(
    'repoEditRelease',
    'Notes',
    async () => (await bob.repos.repoEditRelease(...HOME, id, { body: 'Notes' })).data.body,
  )
  await call('repoCreateReleaseAttachment', 'engine.bin', async () => {
    const attachment = new File(['binary'], 'engine.bin')
    return (await bob.repos.repoCreateReleaseAttachment(...HOME, id, { attachment })).data.name
  })
  await call('repoListReleaseAttachments', ['engine.bin'], async () =>
    (await bob.repos.repoListReleaseAttachments(...HOME, id)).data.map(({ name }) => name),
  )
  await call(
    'repoDeleteRelease',
    204,
    async () => (await bob.repos.repoDeleteRelease(...HOME, id)).status,
  )
}

async function makeHookCalls(ada, bob) {
  const config = { url: 'http://127.0.0.1:9/hook', content_type: 'json', secret: 'hunter2' }
  const draft = { type: 'gitea', config, events: ['push'], active: true }
  let id = 0
  await call('repoCreateHook', ['push'], async () => {
    const { data } = await bob.repos.repoCreateHook(...HOME, draft)
    id = data.id
    return data.events
  })
  await call('repoListHooks', 1, async () => (await bob.repos.repoListHooks(...HOME)).data.length)
  await call(
    'repoEditHook',
    ['push', 'pull_request'],
    async () =>
      (await bob.repos.repoEditHook(...HOME, id, { events: ['push', 'pull_request'] })).data.events,
  )
  await call('repoTestHook', 204, async () => (await bob.repos.repoTestHook(...HOME, id)).status)
  await call(
    'repoDeleteHook',
    204,
    async () => (await bob.repos.repoDeleteHook(...HOME, id)).status,
  )
  await call(
    'orgCreateHook',
    'gitea',
    async () => (await bob.orgs.orgCreateHook('acme', draft)).data.type,
  )
  await call(
    'userCreateHook',
    'gitea',
    async () => (await bob.user.userCreateHook(draft)).data.type,
  )
  await call(
    'adminCreateHook',
    'gitea',
    async () => (await ada.admin.adminCreateHook(draft)).data.type,
  )
  await call('repoListGitHooks', ['pre-receive', 'update', 'post-receive'], async () =>
    (await ada.repos.repoListGitHooks(...HOME)).data.map(({ name }) => name),
  )
}

async function makeSocialCalls(bob, carol) {
  await call(
    'userCurrentPutStar',
    204,
    async () => (await carol.user.userCurrentPutStar(...HOME)).status,
  )
  await call('userCurrentListStarred', ['acme/engine'], async () =>
    (await carol.user.userCurrentListStarred()).data.map(({ full_name }) => full_name),
  )
  await call('repoListStargazers', ['carol'], async () =>
    (await bob.repos.repoListStargazers(...HOME)).data.map(({ login }) => login),
  )
  await call(
    'userCurrentPutFollow',
    204,
    async () => (await carol.user.userCurrentPutFollow('bob')).status,
  )
  await call('userListFollowers', ['carol'], async () =>
    (await bob.users.userListFollowers('bob')).data.map(({ login }) => login),
  )
  await call(
    'userCurrentPutSubscription',
    true,
    async () => (await carol.repos.userCurrentPutSubscription(...HOME)).data.subscribed,
  )
  await call('repoListSubscribers', true, async () =>
    (await bob.repos.repoListSubscribers(...HOME)).data.some(({ login }) => login === 'carol'),
  )
  await call(
    'notifyNewAvailable',
    'number',
    async () => typeof (await carol.notifications.notifyNewAvailable()).data.new,
  )
  await call('notifyGetList', true, async () =>
    Array.isArray((await carol.notifications.notifyGetList()).data),
  )
}

async function makeTransferCalls(bob, carol) {
  await call('repoAddPushMirror', 'https://example.org/engine.git', async () => {
    const draft = { remote_address: 'https://example.org/engine.git', interval: '8h0m0s' }
    return (await bob.repos.repoAddPushMirror(...HOME, draft)).data.remote_address
  })
  await call(
    'repoListPushMirrors',
    1,
    async () => (await bob.repos.repoListPushMirrors(...HOME)).data.length,
  )
  await call('generateRepo', 'bob/copy', async () => {
    await bob.repos.repoEdit(...HOME, { template: true })
    const draft = { owner: 'bob', name: 'copy', git_content: true }
    return (await bob.repos.generateRepo(...HOME, draft)).data.full_name
  })
  await call(
    'repoTransfer',
    202,
    async () => (await bob.repos.repoTransfer('bob', 'notes', { new_owner: 'carol' })).status,
  )
  await call(
    'acceptRepoTransfer',
    'carol/notes',
    async () => (await carol.repos.acceptRepoTransfer('bob', 'notes')).data.full_name,
  )
  await call('repoDelete', 204, async () => (await carol.repos.repoDelete('carol', 'notes')).status)
}

async function makeAdminCalls(ada) {
  await call('adminCreateUser', 'dan', async () => {
    const draft = { username: 'dan', email: 'dan@example.org', password: 'correct horse battery' }
    return (await ada.admin.adminCreateUser(draft)).data.login
  })
  await call('adminEditUser', 'Dan', async () => {
    const draft = { source_id: 0, login_name: 'dan', full_name: 'Dan' }
    return (await ada.admin.adminEditUser('dan', draft)).data.full_name
  })
  await call(
    'adminRenameUser',
    204,
    async () => (await ada.admin.adminRenameUser('dan', { new_username: 'daniel' })).status,
  )
  await call(
    'adminCreateOrg',
    'works',
    async () => (await ada.admin.adminCreateOrg('carol', { username: 'works' })).data.username,
  )
  await call('adminGetAllOrgs', ['acme', 'works'], async () =>
    (await ada.admin.adminGetAllOrgs()).data.map(({ username }) => username).sort(),
  )
  await call(
    'adminCreateRepo',
    'carol/admin',
    async () => (await ada.admin.adminCreateRepo('carol', { name: 'admin' })).data.full_name,
  )
  await call(
    'adminDeleteUser',
    204,
    async () =>
      (await ada.admin.adminDeleteUser('daniel').catch(() => ada.admin.adminDeleteUser('dan')))
        .status,
  )
}

async function readKey(/** @type {string} */ name) {
  return (await readFile(new URL(`../keys/${name}`, import.meta.url), 'utf8')).trim()
}
