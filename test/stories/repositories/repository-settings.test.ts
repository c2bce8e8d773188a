import { createClient } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { callerNamed } from '../../support/callers.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, startTestServer, transportTo } from '../../support/server.ts'

const { server, users, rest: send, client } = await openForge()

const make = async (name: string, settings: object = {}) => {
  const made = await send(users.bob, 'POST', '/user/repos', { name, ...settings })
  expect(made.status).toBe(201)
  return made.body
}

describe('the message of a repository', () => {
  it('has all properties that compatible clients read, with their defaults', async () => {
    const made = await make('whole')
    const url = `${server.url}/api/v1/repos/bob/whole`
    expect(made).toEqual({
      id: expect.any(Number),
      owner: expect.objectContaining({ login: 'bob', username: 'bob', visibility: 'public' }),
      name: 'whole',
      full_name: 'bob/whole',
      description: '',
      website: '',
      empty: true,
      private: false,
      internal: false,
      fork: false,
      template: false,
      mirror: false,
      archived: false,
      size: 0,
      importing: false,
      owned_size: 0,
      lfs_size: 0,
      asset_size: 0,
      language: '',
      languages_url: `${url}/languages`,
      html_url: `${server.url}/bob/whole`,
      url,
      link: '',
      ssh_url: '',
      clone_url: `${server.url}/bob/whole.git`,
      original_url: '',
      avatar_url: '',
      stars_count: 0,
      forks_count: 0,
      watchers_count: 1,
      branch_count: 0,
      open_issues_count: 0,
      open_pr_counter: 0,
      release_counter: 0,
      default_branch: 'main',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      updated_at: made.created_at,
      archived_at: '1970-01-01T00:00:00Z',
      permissions: { admin: true, push: true, pull: true },
      has_code: true,
      has_issues: true,
      close_issues_via_commit_in_any_branch: false,
      lfs_locks_enforced: true,
      issue_access: 'everyone',
      internal_tracker: {
        enable_time_tracker: false,
        allow_only_contributors_to_track_time: true,
        enable_issue_dependencies: true,
      },
      has_pull_requests: true,
      has_releases: true,
      has_wiki: false,
      has_projects: false,
      has_packages: false,
      has_actions: false,
      projects_mode: 'all',
      ignore_whitespace_conflicts: false,
      allow_merge_commits: true,
      allow_rebase: true,
      allow_rebase_explicit: true,
      allow_squash_merge: true,
      allow_fast_forward_only_merge: true,
      allow_merge_update: true,
      allow_rebase_update: true,
      allow_manual_merge: false,
      autodetect_manual_merge: false,
      default_delete_branch_after_merge: false,
      default_allow_maintainer_edit: true,
      default_merge_style: 'merge',
      default_update_style: 'merge',
      mirror_interval: '',
      mirror_updated: '0001-01-01T00:00:00Z',
      mirror_last_sync_at: '0001-01-01T00:00:00Z',
      object_format_name: 'sha1',
      topics: [],
      licenses: [],
    })
  })

  it('is the same by number and over gRPC', async () => {
    const { id } = await make('numbered')
    const byName = await send(users.bob, 'GET', '/repos/bob/numbered')
    expect((await send(users.bob, 'GET', `/repositories/${id}`)).body).toEqual(byName.body)
    const rpc = createClient(
      RepositoryService,
      transportTo(server.url, 'gRPC', users.bob.authorization),
    )
    expect(await rpc.getRepositoryById({ id: BigInt(id) })).toMatchObject({
      fullName: 'bob/numbered',
      hasIssues: true,
    })
    expect((await send(users.bob, 'GET', '/repositories/999999')).status).toBe(404)
    expect((await send(users.bob, 'GET', '/repositories/none')).status).toBe(404)
  })

  it('has the size on disk shortly after a push', async () => {
    await make('sized', { auto_init: true })
    await server.app.background.settled()
    expect((await send(undefined, 'GET', '/repos/bob/sized')).body.size).toBeGreaterThan(0)
  })

  it('has the default merge style of the instance', async () => {
    const other = await startTestServer({ settings: { defaultMergeStyle: 'squash' } })
    const { bob } = await createTestUsers(other.url)
    const made = await restAt(other.url)(bob, 'POST', '/user/repos', { name: 'squashed' })
    expect(made.body.default_merge_style).toBe('squash')
    await other.stop()
  })
})

describe('a new repository', () => {
  it.each<[object, number, string]>([
    [{ object_format_name: 'sha1', template: true, readme: 'Default', auto_init: true }, 201, ''],
    [{ object_format_name: 'sha256' }, 422, 'object format is not supported: sha256'],
    [{ auto_init: true, readme: 'Novel' }, 400, 'readme template does not exist: Novel'],
    [{ auto_init: true, license: 'Pirate' }, 400, 'license template does not exist: Pirate'],
    [{ auto_init: true, gitignores: 'Ada' }, 400, 'gitignores template does not exist: Ada'],
    [{ auto_init: true, license: 'MIT', gitignores: 'Go' }, 201, ''],
    // Templates are for the first commit, of which there is none.
    [{ license: 'MIT' }, 201, ''],
    [{ name: '-' }, 422, ''],
    [{ name: 'a/b' }, 422, ''],
    [{ name: 'späße' }, 422, ''],
  ])('is created from %j: %i', async (settings, status, message) => {
    const name = `new-${Math.trunc(performance.now() * 1000)}`
    const made = await send(users.bob, 'POST', '/user/repos', { name, ...settings })
    expect(made.status).toBe(status)
    if (status !== 201) expect(made.body.message).toContain(message)
    expect((await send(users.bob, 'GET', `/repos/bob/${name}`)).status).toBe(
      status === 201 ? 200 : 404,
    )
  })

  it('of an organisation requires permission of the organisation', async () => {
    expect((await send(users.bob, 'POST', '/orgs', { username: 'acme' })).status).toBe(201)
    const made = await send(users.bob, 'POST', '/orgs/acme/repos', {
      name: 'anvil',
      auto_init: true,
    })
    expect([made.status, made.body.full_name]).toEqual([201, 'acme/anvil'])
    expect((await send(users.bob, 'POST', '/org/acme/repos', { name: 'ANVIL' })).status).toBe(409)
    expect((await send(users.carol, 'POST', '/orgs/acme/repos', { name: 'mine' })).status).toBe(403)
    expect((await send(users.carol, 'POST', '/orgs/nobody/repos', { name: 'mine' })).status).toBe(
      404,
    )
  })

  it('of an organisation has its creator as an administrator', async () => {
    const team = {
      name: 'makers',
      permission: 'read',
      units: ['repo.code'],
      can_create_org_repo: true,
    }
    const { body } = await send(users.bob, 'POST', '/orgs/acme/teams', team)
    expect((await send(users.bob, 'PUT', `/teams/${body.id}/members/carol`)).status).toBe(204)
    const made = await send(users.carol, 'POST', '/orgs/acme/repos', {
      name: 'carols',
      private: true,
    })
    expect([made.status, made.body.permissions]).toEqual([
      201,
      { admin: true, push: true, pull: true },
    ])
  })
})

describe('settings', () => {
  it('change together, and null changes nothing', async () => {
    await make('settings', { description: 'kept' })
    const edit = {
      website: 'https://example.org',
      template: true,
      has_issues: false,
      has_releases: false,
      allow_rebase: false,
      allow_manual_merge: true,
      autodetect_manual_merge: true,
      default_merge_style: 'rebase-merge',
      default_update_style: 'rebase',
      default_allow_maintainer_edit: false,
    }
    const edited = await send(users.bob, 'PATCH', '/repos/bob/settings', {
      ...edit,
      description: null,
      private: null,
      name: '',
      default_branch: null,
      has_wiki: true,
      internal_tracker: { enable_time_tracker: true },
    })
    expect(edited.status).toBe(200)
    expect(edited.body).toMatchObject({
      ...edit,
      description: 'kept',
      private: false,
      has_wiki: false,
    })
    expect((await send(undefined, 'GET', '/repos/bob/settings')).body).toMatchObject(edit)
  })

  it('of pull requests do not change while pull requests are disabled', async () => {
    await make('without-pulls')
    await send(users.bob, 'PATCH', '/repos/bob/without-pulls', {
      allow_rebase: false,
      default_merge_style: 'squash',
    })
    const edit = {
      has_pull_requests: false,
      allow_squash_merge: false,
      default_merge_style: 'rebase',
    }
    const off = await send(users.bob, 'PATCH', '/repos/bob/without-pulls', edit)
    expect(off.body).toMatchObject({
      has_pull_requests: false,
      allow_merge_commits: false,
      allow_merge_update: false,
      default_allow_maintainer_edit: false,
      allow_manual_merge: true,
      default_merge_style: 'merge',
    })
    const on = await send(users.bob, 'PATCH', '/repos/bob/without-pulls', {
      has_pull_requests: true,
    })
    expect(on.body).toMatchObject({
      allow_rebase: false,
      allow_squash_merge: true,
      default_merge_style: 'squash',
    })
  })

  it.each<[object, string]>([
    [{ default_merge_style: 'octopus' }, 'default_merge_style cannot be "octopus"'],
    [{ default_update_style: 'squash' }, 'default_update_style cannot be "squash"'],
    [{ has_pull_requests: false, default_merge_style: 'octopus' }, 'default_merge_style'],
    [{ default_target_branch: 'nowhere' }, 'default_target_branch'],
    [{ default_branch: 'nowhere' }, 'nowhere'],
    [{ name: '..' }, '..'],
    [{ website: 'x'.repeat(1025) }, 'website'],
    [{ private: 'perhaps' }, ''],
  ])('are refused as a whole: %j', async (edit, message) => {
    await send(users.bob, 'POST', '/user/repos', { name: 'refused', auto_init: true })
    const refused = await send(users.bob, 'PATCH', '/repos/bob/refused', {
      description: 'changed',
      ...edit,
    })
    expect(refused.status).toBe(422)
    expect(refused.body.message).toContain(message)
    expect((await send(users.bob, 'GET', '/repos/bob/refused')).body.description).toBe('')
  })

  it('are for administrators of the repository', async () => {
    await make('guarded')
    const statusFor = async (caller: string) => {
      const who = await callerNamed(server.url, users, caller)
      return (await send(who, 'PATCH', '/repos/bob/guarded', { description: caller })).status
    }
    expect(await statusFor('nobody')).toBe(401)
    expect(await statusFor('carol')).toBe(403)
    expect(await statusFor('read:repository')).toBe(403)
    expect(await statusFor('write:user')).toBe(403)
    expect(await statusFor('write:repository')).toBe(200)
    expect(await statusFor('ada')).toBe(200)
    await send(users.bob, 'PUT', '/repos/bob/guarded/collaborators/carol', { permission: 'write' })
    expect(await statusFor('carol')).toBe(403)
    await send(users.bob, 'PUT', '/repos/bob/guarded/collaborators/carol', { permission: 'admin' })
    expect(await statusFor('carol')).toBe(200)
  })

  it('cannot hide a repository from their editor', async () => {
    await make('in-sight')
    const token = await callerNamed(server.url, users, 'public-only')
    expect((await send(token, 'PATCH', '/repos/bob/in-sight', { private: true })).status).toBe(403)
    expect((await send(token, 'PATCH', '/repos/bob/in-sight', { private: false })).status).toBe(200)
    const hidden = await send(token, 'POST', '/orgs/acme/repos', {
      name: 'out-of-sight',
      private: true,
    })
    expect([
      hidden.status,
      (await send(users.bob, 'GET', '/repos/acme/out-of-sight')).status,
    ]).toEqual([403, 404])
  })

  it('hide a repository and its forks at once', async () => {
    const { id } = await make('hidden', { auto_init: true })
    expect((await send(users.carol, 'POST', '/repos/bob/hidden/forks', {})).status).toBe(202)
    expect((await send(users.bob, 'GET', '/repos/carol/hidden')).body.parent.full_name).toBe(
      'bob/hidden',
    )
    await send(users.bob, 'PATCH', '/repos/bob/hidden', { private: true })
    expect((await send(users.carol, 'GET', '/repos/bob/hidden')).status).toBe(404)
    expect((await send(users.carol, 'GET', `/repositories/${id}`)).status).toBe(404)
    expect((await send(undefined, 'GET', '/repos/search?q=hidden')).body.data).toEqual([])
    expect((await send(undefined, 'GET', '/users/bob/repos?limit=50')).body).not.toContainEqual(
      expect.objectContaining({ name: 'hidden' }),
    )
    await expect(client.git('.', 'ls-remote', remoteOf(server.url, 'bob/hidden'))).rejects.toThrow()
    expect((await send(undefined, 'GET', '/repos/carol/hidden')).status).toBe(404)
    const fork = await send(users.carol, 'GET', '/repos/carol/hidden')
    expect(fork.body).toMatchObject({ fork: true, private: true })
    expect(fork.body).not.toHaveProperty('parent')
  })
})

describe('a repository that was renamed', () => {
  it('redirects each request to its new name, with path and query', async () => {
    await make('before', { auto_init: true })
    await send(users.bob, 'PATCH', '/repos/bob/before', { name: 'After' })
    const cases: [method: string, path: string, location: string][] = [
      ['GET', '/repos/bob/before', '/repos/bob/After'],
      ['GET', '/repos/BOB/Before/labels?page=2&q=a%2Fb', '/repos/bob/After/labels?page=2&q=a%2Fb'],
      ['GET', '/repos/bob/before/contents/docs%2Fa/b', '/repos/bob/After/contents/docs%2Fa/b'],
      ['GET', '/repos/bob/before/', '/repos/bob/After/'],
      // Followed to the repository itself, it would delete that.
      ['DELETE', '/repos/%62ob/bef%6Fre/labels/5', '/repos/bob/After/labels/5'],
      ['POST', '/repos/bob/before/labels', '/repos/bob/After/labels'],
      ['PATCH', '/repos/bob/before', '/repos/bob/After'],
      ['DELETE', '/repos/bob/before', '/repos/bob/After'],
    ]
    for (const [method, path, location] of cases) {
      const moved = await send(
        users.bob,
        method,
        path,
        method === 'GET' ? undefined : { name: 'x', color: '#fff' },
      )
      expect([method, path, moved.status, moved.headers.get('location')]).toEqual([
        method,
        path,
        301,
        `/api/v1${location}`,
      ])
    }
    const followed = await fetch(`${server.url}/api/v1/repos/bob/before/labels`)
    expect([followed.status, followed.url]).toEqual([
      200,
      `${server.url}/api/v1/repos/bob/After/labels`,
    ])
  })

  it('informs RPC clients in metadata', async () => {
    const rpc = createClient(
      RepositoryService,
      transportTo(server.url, 'gRPC', users.bob.authorization),
    )
    await expect(rpc.getRepository({ owner: 'bob', repo: 'before' })).rejects.toMatchObject({
      rawMessage: 'the repository has moved to bob/After',
    })
  })

  it('is not revealed by its old name to users without access', async () => {
    await make('whispered', { private: true })
    await send(users.bob, 'PATCH', '/repos/bob/whispered', { name: 'silent' })
    expect((await send(users.carol, 'GET', '/repos/bob/whispered')).status).toBe(404)
  })

  it('frees its old name, and can get it back', async () => {
    await make('there')
    await send(users.bob, 'PATCH', '/repos/bob/there', { name: 'back' })
    expect(
      (await send(users.bob, 'PATCH', '/repos/bob/back', { name: 'There' })).body.full_name,
    ).toBe('bob/There')
    expect((await send(users.bob, 'GET', '/repos/bob/there')).status).toBe(200)
    expect((await send(users.bob, 'GET', '/repos/bob/back')).headers.get('location')).toBe(
      '/api/v1/repos/bob/There',
    )
    await make('back')
    expect((await send(users.bob, 'GET', '/repos/bob/back')).status).toBe(200)
  })
})
