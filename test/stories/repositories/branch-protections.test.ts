import { beforeAll, describe, expect, it } from 'vitest'
import { BranchProtectionService } from '#gen/branchline/v1/branch_protection_service_pb.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import { type Actor, createToken } from '../../support/server.ts'

const forge = await openForge()
const { server, users, rest, ask } = forge
beforeAll(async () => {
  await ask(users.bob, 'POST', '/orgs', { username: 'acme' })
  await ask(users.bob, 'POST', '/orgs/acme/teams', {
    name: 'Crew',
    units_map: { 'repo.code': 'write' },
  })
})

/** Creates a repository of bob with carol as a writer, and returns the path of its protections. */
async function repository(name: string) {
  await rest(users.bob, 'POST', '/user/repos', { name, auto_init: true })
  await rest(users.bob, 'PUT', `/repos/bob/${name}/collaborators/carol`, { permission: 'write' })
  return `/repos/bob/${name}/branch_protections`
}

const DEFAULTS = {
  enable_push: false,
  enable_push_whitelist: false,
  push_whitelist_deploy_keys: false,
  push_whitelist_usernames: [],
  push_whitelist_teams: [],
  enable_force_push: false,
  enable_force_push_allowlist: false,
  force_push_allowlist_deploy_keys: false,
  force_push_allowlist_usernames: [],
  force_push_allowlist_teams: [],
  enable_merge_whitelist: false,
  merge_whitelist_usernames: [],
  merge_whitelist_teams: [],
  enable_bypass_allowlist: false,
  bypass_allowlist_usernames: [],
  bypass_allowlist_teams: [],
  enable_status_check: false,
  status_check_contexts: [],
  required_approvals: 0,
  enable_approvals_whitelist: false,
  approvals_whitelist_username: [],
  approvals_whitelist_teams: [],
  block_on_rejected_reviews: false,
  block_on_official_review_requests: false,
  block_on_outdated_branch: false,
  block_admin_merge_override: false,
  dismiss_stale_approvals: false,
  ignore_stale_approvals: false,
  require_signed_commits: false,
  protected_file_patterns: '',
  unprotected_file_patterns: '',
}

/** What a rule says about the merge queue, which `merge-queue.test.ts` is about. */
const QUEUE = {
  enable_merge_queue: false,
  merge_queue_style: 'merge',
  merge_queue_max_group: 5,
  merge_queue_parallel: 2,
  merge_queue_wait_seconds: 5,
  merge_queue_check_timeout_seconds: 3600,
  merge_queue_only_contexts: [],
  merge_queue_head_contexts: [],
  merge_queue_bypass: 'bypass_allowlist',
}

const SOMETIME = expect.stringMatching(/^20\d\d-/)

describe('a branch protection', () => {
  it('is created from its name alone, and allows no push', async () => {
    const rules = await repository('plain')
    const made = await rest(users.bob, 'POST', rules, { rule_name: 'main' })
    expect(made.status).toBe(201)
    expect(made.body).toEqual({
      ...DEFAULTS,
      ...QUEUE,
      id: expect.any(Number),
      rule_name: 'main',
      branch_name: 'main',
      priority: 1,
      created_at: SOMETIME,
      updated_at: SOMETIME,
    })
    expect((await rest(users.bob, 'GET', `${rules}/main`)).body).toEqual(made.body)
    expect((await rest(users.bob, 'GET', rules)).body).toEqual([made.body])
  })

  it('keeps all its settings, and those that an edit leaves out', async () => {
    const rules = await repository('whole')
    const { branch_name: _, ...all } = { ...DEFAULTS, branch_name: '' }
    const flags = Object.entries(all).flatMap(([key, value]) =>
      value === false ? [[key, true]] : [],
    )
    const lists = Object.keys(all).flatMap((key) =>
      /usernames?$/.test(key) ? [[key, ['CAROL', 'bob', 'carol']]] : [],
    )
    const draft = {
      ...Object.fromEntries([...flags, ...lists]),
      status_check_contexts: ['ci/*', 'lint'],
      required_approvals: 2,
      protected_file_patterns: 'a;b/**',
      unprotected_file_patterns: 'c',
      push_whitelist_teams: ['ignored where a user owns the repository'],
      priority: 7,
    }
    const made = await rest(users.bob, 'POST', rules, { rule_name: 'release/*', ...draft })
    const listed = Object.fromEntries(lists.map(([key]) => [key, ['bob', 'carol']]))
    const expected = {
      ...draft,
      ...listed,
      push_whitelist_teams: [],
      rule_name: 'release/*',
      branch_name: '',
    }
    expect(made.body).toMatchObject(expected)
    // Some clients send null and empty objects for absent fields.
    const nothing = Object.fromEntries(Object.keys(draft).map((key) => [key, null]))
    for (const edit of [
      {},
      nothing,
      { required_approvals: -1, rule_name: 'other', branch_name: 'other' },
    ]) {
      const kept = await rest(users.bob, 'PATCH', `${rules}/release%2F*`, edit)
      expect([kept.status, kept.body]).toMatchObject([200, expected])
    }
    const changed = await rest(users.bob, 'PATCH', `${rules}/release/*`, {
      status_check_contexts: [],
      merge_whitelist_usernames: ['carol'],
      required_approvals: 0,
      protected_file_patterns: '',
      block_on_rejected_reviews: false,
      priority: 3,
    })
    expect(changed.body).toMatchObject({
      ...expected,
      status_check_contexts: [],
      merge_whitelist_usernames: ['carol'],
      required_approvals: 0,
      protected_file_patterns: '',
      block_on_rejected_reviews: false,
      priority: 3,
    })
  })

  it.each<[title: string, who: 'bob' | 'carol', body: object, status: number, message: string]>([
    ['without a name', 'bob', {}, 400, 'both rule_name and branch_name are empty'],
    [
      'with an empty name',
      'bob',
      { rule_name: '', branch_name: '' },
      400,
      'both rule_name and branch_name are empty',
    ],
    [
      'of a name that is taken',
      'bob',
      { rule_name: 'there' },
      403,
      'Branch protection already exist',
    ],
    [
      'of the deprecated name that is taken',
      'bob',
      { branch_name: 'there' },
      403,
      'Branch protection already exist',
    ],
    [
      'for nobody',
      'bob',
      { rule_name: 'x', push_whitelist_usernames: ['nobody'] },
      422,
      'user does not exist [uid: 0, name: nobody]',
    ],
    [
      'for an organisation',
      'bob',
      { rule_name: 'x', merge_whitelist_usernames: ['acme'] },
      422,
      'user does not exist [uid: 0, name: acme]',
    ],
    [
      'for approvers that do not exist',
      'bob',
      { rule_name: 'x', approvals_whitelist_usernames: ['nobody'] },
      422,
      'user does not exist [uid: 0, name: nobody]',
    ],
    [
      'for those who may bypass and do not exist',
      'bob',
      { rule_name: 'x', enable_bypass_allowlist: true, bypass_allowlist_usernames: ['nobody'] },
      422,
      'user does not exist [uid: 0, name: nobody]',
    ],
    [
      'of a name that is too long',
      'bob',
      { rule_name: 'x'.repeat(256) },
      422,
      'rule_name is longer than 255 characters',
    ],
    [
      'of too many patterns',
      'bob',
      { rule_name: 'x', protected_file_patterns: 'a;'.repeat(101) },
      422,
      'protected_file_patterns is missing or not allowed',
    ],
    [
      'of too many contexts',
      'bob',
      { rule_name: 'x', status_check_contexts: Array(101).fill('a') },
      422,
      'status_check_contexts is missing or not allowed',
    ],
    [
      'by who does not administer the repository',
      'carol',
      { rule_name: 'x' },
      403,
      'user should be an owner or a collaborator with admin write of a repository',
    ],
  ])('is not created %s', async (_, who, body, status, message) => {
    made ??= repository('refused').then(async (rules) => {
      await rest(users.bob, 'POST', rules, { rule_name: 'there' })
      return rules
    })
    const refused = await rest(users[who], 'POST', await made, body)
    expect([refused.status, refused.body.message]).toEqual([status, message])
    expect((await rest(users.bob, 'GET', await made)).body).toHaveLength(1)
  })
  let made: Promise<string> | undefined

  it('ignores the bypass list while it is disabled', async () => {
    const rules = await repository('bypassing')
    const draft = { rule_name: 'main', bypass_allowlist_usernames: ['nobody'] }
    expect((await rest(users.bob, 'POST', rules, draft)).body).toMatchObject({
      bypass_allowlist_usernames: [],
    })
    const edit = (body: object) => rest(users.bob, 'PATCH', `${rules}/main`, body)
    expect((await edit({ bypass_allowlist_usernames: ['nobody'] })).status).toBe(422)
    const on = await edit({ enable_bypass_allowlist: true, bypass_allowlist_usernames: ['carol'] })
    expect(on.body).toMatchObject({
      enable_bypass_allowlist: true,
      bypass_allowlist_usernames: ['carol'],
    })
    expect((await edit({ priority: 4 })).body).toMatchObject({
      bypass_allowlist_usernames: ['carol'],
    })
    const off = await edit({ enable_bypass_allowlist: false, bypass_allowlist_usernames: ['bob'] })
    expect(off.body).toMatchObject({
      enable_bypass_allowlist: false,
      bypass_allowlist_usernames: [],
    })
    expect((await edit({ enable_bypass_allowlist: true })).body).toMatchObject({
      bypass_allowlist_usernames: [],
    })
  })

  /** The flags for push, its list and its keys; then the same for force push. */
  const flagsOf = (body: Record<string, boolean>) =>
    [
      body.enable_push,
      body.enable_push_whitelist,
      body.push_whitelist_deploy_keys,
      body.enable_force_push,
      body.enable_force_push_allowlist,
      body.force_push_allowlist_deploy_keys,
    ]
      .map((on) => (on ? '1' : '0'))
      .join('')
  const flags = (bits: string) => {
    const names = [
      'enable_push',
      'enable_push_whitelist',
      'push_whitelist_deploy_keys',
      'enable_force_push',
      'enable_force_push_allowlist',
      'force_push_allowlist_deploy_keys',
    ]
    return Object.fromEntries(
      names.flatMap((name, i) => (bits[i] === '-' ? [] : [[name, bits[i] === '1']])),
    )
  }

  it.each([
    ['111111', '111111'],
    // Without push, the other flags have no effect.
    ['011111', '000000'],
    ['101111', '100111'],
    ['110111', '110111'],
    ['111011', '111000'],
    ['100101', '100100'],
    ['001001', '000000'],
    ['100110', '100110'],
  ])('that is created with flags %s has %s', async (given, effective) => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'flags' })
    const rules = '/repos/bob/flags/branch_protections'
    const made = await rest(users.bob, 'POST', rules, {
      rule_name: `made-${given}`,
      ...flags(given),
    })
    expect(flagsOf(made.body)).toBe(effective)
  })

  it.each([
    ['111111', '0-----', '000111'],
    ['111111', '01-1--', '000111'],
    ['000000', '1-----', '100000'],
    ['000000', '11----', '110000'],
    ['000000', '111---', '111000'],
    ['000000', '101---', '100000'],
    // An allowlist has no effect while the feature that it restricts is off.
    ['000000', '-11---', '000000'],
    ['100000', '-1----', '110000'],
    ['111000', '-0----', '100000'],
    ['111000', '10----', '100000'],
    ['110000', '--1---', '111000'],
    ['111111', '---0--', '111000'],
    ['111000', '---111', '111111'],
    ['111100', '----1-', '111110'],
    ['111111', '----0-', '111100'],
    ['111110', '-----1', '111111'],
    ['100000', '----11', '100000'],
  ])('of flags %s that is edited with %s has %s', async (before, edit, after) => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'edited-flags' })
    const rules = '/repos/bob/edited-flags/branch_protections'
    const name = `${before}${edit}`
    await rest(users.bob, 'POST', rules, { rule_name: name, ...flags(before) })
    const edited = await rest(users.bob, 'PATCH', `${rules}/${name}`, flags(edit))
    expect(flagsOf(edited.body)).toBe(after)
  })

  it('lists only users with the required access, by id', async () => {
    const rules = await repository('listed')
    const draft = {
      rule_name: 'main',
      push_whitelist_usernames: ['carol', 'dan', 'bob'],
      approvals_whitelist_username: ['dan'],
      approvals_whitelist_usernames: ['carol'],
    }
    const made = await rest(users.bob, 'POST', rules, draft)
    expect(made.body.push_whitelist_usernames).toEqual(['bob', 'carol'])
    // All readers of pull requests may approve.
    expect(made.body.approvals_whitelist_username).toEqual(['carol', 'dan'])
    await rest(users.bob, 'PATCH', '/repos/bob/listed', { private: true })
    await rest(users.bob, 'DELETE', '/repos/bob/listed/collaborators/carol')
    const left = await rest(users.bob, 'GET', `${rules}/main`)
    expect(left.body).toMatchObject({
      push_whitelist_usernames: ['bob'],
      approvals_whitelist_username: [],
    })
  })

  it('follows a user who is renamed', async () => {
    const rules = await repository('renamed-user')
    await rest(users.ada, 'POST', '/admin/users', {
      username: 'eve',
      password: 'long enough 1',
      email: 'eve@example.org',
    })
    await rest(users.bob, 'PUT', '/repos/bob/renamed-user/collaborators/eve', {
      permission: 'write',
    })
    await rest(users.bob, 'POST', rules, { rule_name: 'main', push_whitelist_usernames: ['eve'] })
    await server.app.db
      .updateTable('users')
      .set({ username: 'eva' })
      .where('username', '=', 'eve')
      .execute()
    expect((await rest(users.bob, 'GET', `${rules}/main`)).body.push_whitelist_usernames).toEqual([
      'eva',
    ])
  })

  it('of an organisation names its teams', async () => {
    await rest(users.bob, 'POST', '/orgs/acme/repos', { name: 'teams' })
    const rules = '/repos/acme/teams/branch_protections'
    const organization = await rest(users.bob, 'GET', '/orgs/acme')
    const refused = await rest(users.bob, 'POST', rules, {
      rule_name: 'main',
      push_whitelist_teams: ['nobody'],
    })
    expect([refused.status, refused.body.message]).toEqual([
      422,
      `team does not exist [org_id ${organization.body.id}, team_id 0, name: nobody]`,
    ])
    // A team without access to the repository is dropped.
    const idle = await rest(users.bob, 'POST', rules, {
      rule_name: 'idle',
      push_whitelist_teams: ['Crew'],
    })
    expect([idle.status, idle.body.push_whitelist_teams]).toEqual([201, []])
    await rest(users.bob, 'PUT', '/repos/acme/teams/teams/Crew')
    expect((await rest(users.bob, 'GET', `${rules}/idle`)).body.push_whitelist_teams).toEqual([])
    const lists = { push_whitelist_teams: ['crew'], merge_whitelist_teams: ['OWNERS', 'crew'] }
    const made = await rest(users.bob, 'POST', rules, { rule_name: 'main', ...lists })
    expect(made.body).toMatchObject({
      push_whitelist_teams: ['Crew'],
      merge_whitelist_teams: ['Owners', 'Crew'],
    })
    const edited = await rest(users.bob, 'PATCH', `${rules}/main`, { merge_whitelist_teams: [] })
    expect(edited.body).toMatchObject({ push_whitelist_teams: ['Crew'], merge_whitelist_teams: [] })
    expect(
      (await rest(users.bob, 'PATCH', `${rules}/main`, { merge_whitelist_teams: ['x'] })).status,
    ).toBe(422)
  })

  it('is found by its exact name only', async () => {
    const rules = await repository('exact')
    for (const rule_name of ['main', 'feature/**', 'a b'])
      expect((await rest(users.bob, 'POST', rules, { rule_name })).status).toBe(201)
    for (const name of ['main', 'feature/**', 'feature%2F**', 'a%20b'])
      expect((await rest(users.bob, 'GET', `${rules}/${name}`)).status).toBe(200)
    for (const method of ['GET', 'PATCH', 'DELETE'])
      for (const name of ['MAIN', 'feature/x', 'x', 'priority'])
        expect(await rest(users.bob, method, `${rules}/${name}`)).toMatchObject({
          status: 404,
          body: { message: 'not found' },
        })
  })

  it('is deleted, and can be created again with another id', async () => {
    const rules = await repository('deleted')
    const first = await rest(users.bob, 'POST', rules, { rule_name: 'main' })
    expect((await rest(users.bob, 'DELETE', `${rules}/main`)).status).toBe(204)
    expect((await rest(users.bob, 'DELETE', `${rules}/main`)).status).toBe(404)
    const second = await rest(users.bob, 'POST', rules, { rule_name: 'main' })
    expect(second.body.id).toBeGreaterThan(first.body.id)
  })

  it('is one of at most 100', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'many' })
    const rules = '/repos/bob/many/branch_protections'
    for (let i = 0; i < 100; i += 1) await rest(users.bob, 'POST', rules, { rule_name: `b${i}` })
    const refused = await rest(users.bob, 'POST', rules, { rule_name: 'one more' })
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'a repository can have at most 100 branch protection rules',
    ])
    // The list is not paged.
    expect((await rest(users.bob, 'GET', `${rules}?page=2&limit=3`)).body).toHaveLength(100)
  })
})

describe('the order of branch protections', () => {
  it('is by priority, then plain names, then age, and can be changed', async () => {
    const rules = await repository('ordered')
    const ids: Record<string, number> = {}
    for (const [rule_name, priority] of [
      ['a*', 0],
      ['b', 0],
      ['c*', 2],
      ['d', 2],
      ['e', 1],
      ['f', -3],
    ] as const) {
      ids[rule_name] = (await rest(users.bob, 'POST', rules, { rule_name, priority })).body.id
    }
    const order = async () =>
      (await rest(users.bob, 'GET', rules)).body.map(
        (rule: { rule_name: string; priority: number }) => [rule.rule_name, rule.priority],
      )
    const before = [
      ['e', 1],
      ['a*', 1],
      ['b', 2],
      ['d', 2],
      ['c*', 2],
      ['f', 3],
    ]
    expect(await order()).toEqual(before)
    const reorder = (...names: string[]) =>
      rest(users.bob, 'POST', `${rules}/priority`, { ids: names.map((name) => ids[name] ?? 0) })
    for (const names of [
      ['a*', 'x'],
      ['b', 'b'],
    ]) {
      expect((await reorder(...names)).status).toBe(422)
      expect(await order()).toEqual(before)
    }
    expect((await reorder('f', 'c*', 'b')).status).toBe(204)
    expect(await order()).toEqual([
      ['e', 1],
      ['f', 1],
      ['a*', 1],
      ['d', 2],
      ['c*', 2],
      ['b', 3],
    ])
    expect((await rest(users.bob, 'POST', `${rules}/priority`, {})).status).toBe(204)
    const other = await repository('ordered-other')
    const foreign = await rest(users.bob, 'POST', other, { rule_name: 'a' })
    expect(
      (await rest(users.bob, 'POST', `${rules}/priority`, { ids: [foreign.body.id] })).status,
    ).toBe(422)
  })
})

describe('the branch protections of a repository', () => {
  it('are for its administrators, while it is not archived', async () => {
    const rules = await repository('guarded')
    const calls = [
      ['GET', rules, 200],
      ['POST', rules, 201],
      ['GET', `${rules}/main`, 200],
      ['PATCH', `${rules}/main`, 200],
      ['POST', `${rules}/priority`, 204],
      ['DELETE', `${rules}/main`, 204],
    ] as const
    const answers = async (who: Pick<Actor, 'authorization'> | undefined) => {
      const statuses = []
      for (const [method, path] of calls) {
        const body = path === rules && method === 'POST' ? { rule_name: 'main' } : {}
        statuses.push((await rest(who, method, path, method === 'GET' ? undefined : body)).status)
      }
      return statuses
    }
    const token = async (...scopes: string[]) => ({
      authorization: `token ${await createToken(server.url, users.bob, scopes)}`,
    })
    expect(await answers(undefined)).toEqual(calls.map(() => 401))
    expect(await answers(users.carol)).toEqual(calls.map(() => 403))
    expect(await answers(await token('write:issue'))).toEqual(calls.map(() => 403))
    expect(await answers(await token('read:repository'))).toEqual([200, 403, 404, 403, 403, 403])
    expect(await answers(await token('write:repository'))).toEqual(
      calls.map(([, , status]) => status),
    )
    expect(await answers(users.bob)).toEqual(calls.map(([, , status]) => status))
    await rest(users.bob, 'POST', rules, { rule_name: 'main' })
    await rest(users.bob, 'PATCH', '/repos/bob/guarded', { archived: true })
    expect(await answers(users.bob)).toEqual([200, 423, 200, 423, 423, 423])
    await rest(users.bob, 'PATCH', '/repos/bob/guarded', { archived: false, private: true })
    await rest(users.bob, 'DELETE', '/repos/bob/guarded/collaborators/carol')
    expect(await answers(users.carol)).toEqual(calls.map(() => 404))
    expect(await answers(await token('write:repository', 'public-only'))).toEqual(
      calls.map(() => 404),
    )
  })

  it('give the same reasons over gRPC', async () => {
    await repository('grpc')
    const client = forge.grpc(BranchProtectionService, users.bob)
    const repo = { owner: 'bob', repo: 'grpc' }
    const made = await client.createBranchProtection({
      ...repo,
      branchName: 'main',
      enablePush: true,
    })
    expect(made).toMatchObject({
      ruleName: 'main',
      branchName: 'main',
      enablePush: true,
      priority: 1n,
    })
    const edited = await client.editBranchProtection({
      ...repo,
      name: 'main',
      requiredApprovals: 3n,
    })
    expect(edited).toMatchObject({ enablePush: true, requiredApprovals: 3n })
    expect((await client.listBranchProtections(repo)).branchProtections).toEqual([edited])
    expect(await client.getBranchProtection({ ...repo, name: 'main' })).toEqual(edited)
    const create = (fields: object) =>
      refusalOf(client.createBranchProtection({ ...repo, ...fields }))
    expect(await create({})).toMatchObject({
      code: 'InvalidArgument',
      reason: 'BRANCH_PROTECTION_NAMELESS',
    })
    expect(await create({ ruleName: 'main' })).toMatchObject({
      code: 'AlreadyExists',
      reason: 'BRANCH_PROTECTION_EXISTS',
    })
    expect(await create({ ruleName: 'x'.repeat(256) })).toMatchObject({
      code: 'InvalidArgument',
      reason: 'INVALID_FIELD',
    })
    const listed = { ruleName: 'x', pushWhitelistUsernames: ['nobody'] }
    expect(await create(listed)).toMatchObject({
      code: 'InvalidArgument',
      reason: 'UNKNOWN_ALLOWLIST_NAME',
    })
    for (const call of [
      client.getBranchProtection,
      client.editBranchProtection,
      client.deleteBranchProtection,
    ]) {
      expect(await refusalOf(call({ ...repo, name: 'x' }))).toMatchObject({
        code: 'NotFound',
        reason: 'BRANCH_PROTECTION_NOT_FOUND',
      })
    }
    const reorder = client.reorderBranchProtections({ ...repo, ids: [made.id, made.id] })
    expect(await refusalOf(reorder)).toMatchObject({
      code: 'InvalidArgument',
      reason: 'INVALID_PROTECTION_ORDER',
    })
    await client.reorderBranchProtections({ ...repo, ids: [made.id] })
    await client.deleteBranchProtection({ ...repo, name: 'main' })
    const carol = forge.grpc(BranchProtectionService, users.carol)
    expect(await refusalOf(carol.listBranchProtections(repo))).toMatchObject({
      code: 'PermissionDenied',
      reason: 'REPOSITORY_ACCESS_DENIED',
    })
  })
})
