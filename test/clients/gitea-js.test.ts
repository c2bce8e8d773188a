import { generateKeyPairSync } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { type Api, giteaApi } from 'gitea-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createTestUsers,
  createToken,
  startTestServer,
  type TestServer,
  type TestUsers,
} from '../support/server.ts'
import { misfits, readDeclaredTypes } from './declared-types.ts'

/**
 * An unmodified client of compatible systems. Its calls are typed by its own declarations, without
 * a users, and whatever comes back is held against them.
 */
const types = readDeclaredTypes(
  fileURLToPath(new URL('index.d.ts', import.meta.resolve('gitea-js'))),
)

/** Declared, and left out where there is none of it. */
const OPTIONAL =
  /\.(parent|internal_tracker|external_tracker|external_wiki|repo_transfer|default_target_branch|read_only|repository) is missing$/

/** Declared as lists, and null in compatible systems wherever no push is told of. */
const OF_PUSHES = /\.commit\.(added|removed|modified) is no list$/

let server: TestServer
let users: TestUsers
let api: Api<unknown>

beforeAll(async () => {
  server = await startTestServer()
  users = await createTestUsers(server.url)
  api = giteaApi(server.url, { token: await createToken(server.url, users.bob, ['all']) })
})
afterAll(() => server.stop())

/** What of an answer does not fit the type that the client declares for it. */
function misfitsOf(type: string, data: unknown): string[] {
  return misfits(types, type, data).filter((text) => !OPTIONAL.test(text) && !OF_PUSHES.test(text))
}

const HOME = ['acme', 'engine'] as const

describe('gitea-js', () => {
  it('knows whom it talks to, and for whom', async () => {
    const { data: version } = await api.version.getVersion()
    expect(version.version).toMatch(/^1\.\d+\.\d+/)
    const { data: user } = await api.user.userGetCurrent()
    expect([user.login, user.email]).toEqual(['bob', 'bob@example.org'])
    expect(misfitsOf('User', user)).toEqual([])
  })

  it('creates an organisation and reads it back', async () => {
    const made = await api.orgs.orgCreate({
      username: 'acme',
      full_name: 'Acme Ltd',
      visibility: 'limited',
    })
    expect([made.status, made.data.name]).toEqual([201, 'acme'])
    expect(misfitsOf('Organization', made.data)).toEqual([])
    expect((await api.orgs.orgGet('acme')).data).toEqual(made.data)
    expect((await api.user.orgListCurrentUserOrgs()).data).toEqual([made.data])
  })

  it('creates a repository and reads it back', async () => {
    const made = await api.orgs.createOrgRepo('acme', {
      name: 'engine',
      private: true,
      auto_init: true,
    })
    expect([made.status, made.data.full_name, made.data.owner?.login]).toEqual([
      201,
      'acme/engine',
      'acme',
    ])
    expect(misfitsOf('Repository', made.data)).toEqual([])
    expect((await api.repos.repoGet(...HOME)).data.id).toBe(made.data.id)
    const { data: found } = await api.repos.repoSearch({ q: 'ENG' })
    expect(misfitsOf('SearchResults', found)).toEqual([])
    expect(found.data?.map(({ id }) => id)).toEqual([made.data.id])
    const edited = await api.repos.repoEdit(...HOME, { description: 'turns', has_wiki: false })
    expect(edited.data.description).toBe('turns')
  })

  it('creates a team with a member and the repository and reads it back', async () => {
    const made = await api.orgs.orgCreateTeam('acme', {
      name: 'crew',
      permission: 'write',
      units_map: { 'repo.code': 'read', 'repo.issues': 'write' },
    })
    const { id } = made.data
    if (id === undefined) throw new Error('a team without a number')
    expect([made.status, made.data.units_map]).toEqual([
      201,
      expect.objectContaining({ 'repo.code': 'read', 'repo.issues': 'write' }),
    ])
    expect(misfitsOf('Team', made.data)).toEqual([])
    expect((await api.teams.orgAddTeamMember(id, 'carol')).status).toBe(204)
    expect((await api.teams.orgAddTeamRepository(id, ...HOME)).status).toBe(204)
    expect((await api.teams.orgGetTeam(id)).data.name).toBe('crew')
    expect((await api.orgs.orgListTeams('acme')).data.map(({ name }) => name)).toContain('crew')
    const { data: members } = await api.teams.orgListTeamMembers(id)
    expect(members.map(({ login }) => login)).toEqual(['carol'])
    expect(misfitsOf('User[]', members)).toEqual([])
    const { data: repositories } = await api.teams.orgListTeamRepos(id)
    expect(repositories.map(({ full_name }) => full_name)).toEqual(['acme/engine'])
  })

  it('creates a file and reads it back', async () => {
    const content = Buffer.from('to be turned\n').toString('base64')
    const made = await api.repos.repoCreateFile(...HOME, 'docs/a b.md', {
      content,
      message: 'Say it',
    })
    expect([made.status, made.data.content?.path]).toEqual([201, 'docs/a b.md'])
    expect(misfitsOf('FileResponse', made.data)).toEqual([])
    const { data: file } = await api.repos.repoGetContents(...HOME, 'docs/a b.md')
    expect([file.content, file.sha]).toEqual([content, made.data.content?.sha])
    expect(misfitsOf('ContentsResponse', file)).toEqual([])
    const { data: commits } = await api.repos.repoGetAllCommits(...HOME, { path: 'docs/a b.md' })
    expect(commits.map(({ commit }) => commit?.message)).toEqual(['Say it\n'])
    expect(misfitsOf('Commit[]', commits)).toEqual([])
  })

  it('creates labels and reads them back', async () => {
    const made = await api.repos.issueCreateLabel(...HOME, {
      name: 'kind/bug',
      color: '#F00',
      exclusive: true,
    })
    expect([made.status, made.data.color]).toEqual([201, 'ff0000'])
    expect(misfitsOf('Label', made.data)).toEqual([])
    expect((await api.repos.issueGetLabel(...HOME, made.data.id ?? 0)).data).toEqual(made.data)
    expect((await api.repos.issueListLabels(...HOME)).data).toEqual([made.data])
    const ofAll = await api.orgs.orgCreateLabel('acme', { name: 'help', color: '00aabb' })
    expect((await api.orgs.orgListLabels('acme')).data).toEqual([ofAll.data])
  })

  it('creates a milestone and reads it back', async () => {
    const due_on = '2030-01-02T03:04:05Z'
    const made = await api.repos.issueCreateMilestone(...HOME, { title: 'v1', due_on })
    expect([made.status, made.data.due_on]).toEqual([201, due_on])
    expect(misfitsOf('Milestone', made.data)).toEqual([])
    expect((await api.repos.issueGetMilestone(...HOME, 'v1')).data).toEqual(made.data)
    expect((await api.repos.issueGetMilestonesList(...HOME, { state: 'all' })).data).toEqual([
      made.data,
    ])
    const closed = await api.repos.issueEditMilestone(...HOME, String(made.data.id), {
      state: 'closed',
    })
    expect(closed.data.state).toBe('closed')
  })

  it('creates a status and reads it back, alone and combined', async () => {
    const [head] = (await api.repos.repoGetAllCommits(...HOME, { limit: 1 })).data
    const sha = head?.sha ?? ''
    const made = await api.repos.repoCreateStatus(...HOME, sha, {
      state: 'success',
      context: 'ci/build',
    })
    expect([made.status, made.data.creator?.login]).toEqual([201, 'bob'])
    expect(misfitsOf('CommitStatus', made.data)).toEqual([])
    expect((await api.repos.repoListStatuses(...HOME, sha)).data).toEqual([made.data])
    expect(
      (await api.repos.repoListStatusesByRef(...HOME, 'main', { state: 'failure' })).data,
    ).toEqual([])
    const { data: combined } = await api.repos.repoGetCombinedStatusByRef(...HOME, 'main')
    expect(combined).toMatchObject({ state: 'success', sha, total_count: 1, statuses: [made.data] })
    expect(misfitsOf('CombinedStatus', combined)).toEqual([])
  })

  it('creates a fork and reads it back', async () => {
    const made = await api.repos.createFork(...HOME, { name: 'motor' })
    expect([made.status, made.data.full_name, made.data.fork]).toEqual([202, 'bob/motor', true])
    expect(made.data.parent?.full_name).toBe('acme/engine')
    expect(misfitsOf('Repository', made.data)).toEqual([])
    const { data: forks } = await api.repos.listForks(...HOME)
    expect(forks.map(({ full_name }) => full_name)).toEqual(['bob/motor'])
    const { data: file } = await api.repos.repoGetContents('bob', 'motor', 'docs/a b.md')
    expect(Buffer.from(file.content ?? '', 'base64').toString()).toBe('to be turned\n')
  })

  it('reads what Git has', async () => {
    const [head, first] = (await api.repos.repoGetAllCommits(...HOME)).data
    if (head?.sha === undefined || first?.sha === undefined)
      throw new Error('two commits are there')
    const { data: commit } = await api.repos.repoGetSingleCommit(...HOME, head.sha)
    expect([commit.sha, commit.parents?.map(({ sha }) => sha)]).toEqual([head.sha, [first.sha]])
    expect(misfitsOf('Commit', commit)).toEqual([])
    const { data: compared } = await api.repos.repoCompareDiff(...HOME, `${first.sha}...main`)
    expect([compared.total_commits, misfitsOf('Compare', compared)]).toEqual([1, []])
    const { data: refs } = await api.repos.repoListAllGitRefs(...HOME)
    expect([refs.map(({ ref }) => ref), misfitsOf('Reference[]', refs)]).toEqual([
      ['refs/heads/main'],
      [],
    ])
    const { data: tree } = await api.repos.getTree(...HOME, head.sha, { recursive: true })
    expect(tree.tree?.map(({ path }) => path)).toEqual(['README.md', 'docs', 'docs/a b.md'])
    expect(misfitsOf('GitTreeResponse', tree)).toEqual([])
    const { data: blob } = await api.repos.getBlob(...HOME, tree.tree?.[2]?.sha ?? '')
    expect([blob.size, misfitsOf('GitBlobResponse', blob)]).toEqual([13, []])
  })

  it('reads branches', async () => {
    const { data: branches } = await api.repos.repoListBranches(...HOME, { limit: 1 })
    expect([branches.map(({ name }) => name), misfitsOf('Branch[]', branches)]).toEqual([
      ['main'],
      [],
    ])
    const { data: branch } = await api.repos.repoGetBranch(...HOME, 'main')
    expect([branch, misfitsOf('Branch', branch)]).toEqual([branches[0], []])
  })

  it('creates a tag that is protected from then on, and reads both back', async () => {
    const made = await api.repos.repoCreateTag(...HOME, {
      tag_name: 'v1.0',
      message: 'one',
      target: 'main',
    })
    expect([made.status, made.data.name, misfitsOf('Tag', made.data)]).toEqual([201, 'v1.0', []])
    expect((await api.repos.repoListTags(...HOME)).data).toEqual([made.data])
    const rule = { name_pattern: 'v*', whitelist_usernames: ['bob'] }
    const protection = await api.repos.repoCreateTagProtection(...HOME, rule)
    expect([protection.status, misfitsOf('TagProtection', protection.data)]).toEqual([201, []])
    expect((await api.repos.repoListTagProtection(...HOME)).data).toEqual([protection.data])
  })

  it('lets somebody in and reads how far', async () => {
    expect(
      (await api.repos.repoAddCollaborator(...HOME, 'carol', { permission: 'admin' })).status,
    ).toBe(204)
    const { data: carol } = await api.repos.repoGetRepoPermissions(...HOME, 'carol')
    expect([carol.permission, carol.user?.login]).toEqual(['admin', 'carol'])
    expect(misfitsOf('RepoCollaboratorPermission', carol)).toEqual([])
    for (const offered of [
      await api.repos.repoGetAssignees(...HOME),
      await api.repos.repoGetReviewers(...HOME),
    ]) {
      expect(offered.data.map(({ login }) => login)).toEqual(['bob', 'carol'])
    }
    const { data: collaborators } = await api.repos.repoListCollaborators(...HOME)
    expect(collaborators.map(({ login }) => login)).toEqual(['carol'])
  })

  it('creates keys of a user and of a repository and reads them back', async () => {
    const own = await api.user.userCurrentPostKey({ title: 'laptop', key: sshKey() })
    expect([own.status, misfitsOf('PublicKey', own.data)]).toEqual([201, []])
    expect((await api.user.userCurrentListKeys()).data).toEqual([own.data])
    const deploy = await api.repos.repoCreateKey(...HOME, {
      title: 'server',
      key: sshKey(),
      read_only: true,
    })
    expect([deploy.status, misfitsOf('DeployKey', deploy.data)]).toEqual([201, []])
    expect((await api.repos.repoListKeys(...HOME)).data).toEqual([deploy.data])
  })

  it('is told what went wrong', async () => {
    const refused = await api.repos
      .issueCreateLabel(...HOME, { name: 'x', color: 'red' })
      .catch((thrown) => thrown)
    expect([refused.status, refused.error]).toEqual([
      422,
      { message: 'bad color code: red', url: expect.stringContaining('/openapi.json') },
    ])
  })
})

/** A new key, as OpenSSH writes public ones. */
function sshKey(): string {
  const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  const parts = [Buffer.from('ssh-ed25519'), Buffer.from(x, 'base64url')].map((part) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(part.length)
    return Buffer.concat([length, part])
  })
  return `ssh-ed25519 ${Buffer.concat(parts).toString('base64')}`
}
