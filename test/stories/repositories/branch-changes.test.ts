import { afterAll, describe, expect, it } from 'vitest'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import { putBranchRename } from '../../../src/forge/repositories/refs/branches.rows.ts'
import { recordPendingUpdate } from '../../../src/forge/repositories/refs/pending-ref-updates.ts'
import { reconcilePendingUpdates } from '../../../src/forge/repositories/refs/ref-index.ts'
import { isRefName, updateRefs } from '../../../src/platform/git/refs/refs.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { seededRandom } from '../../platform/rpc/rest/random.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { execFileSync } from '../../support/programs.ts'
import type { RestAnswer } from '../../support/rest.ts'
import { type Actor, createToken, PASSWORD } from '../../support/server.ts'

const forge = await openForge()
const { server, users, client, rest } = forge
afterAll(forge.checkObjects)

const MISSING = '1'.repeat(40)

/**
 * Makes a repository of bob with two commits on main, and the first of them on old, that carol may
 * write to.
 */
async function repository(name: string) {
  const { body } = await rest(users.bob, 'POST', '/user/repos', { name, auto_init: true })
  await rest(users.bob, 'PUT', `/repos/bob/${name}/collaborators/carol`, { permission: 'write' })
  await client.git('.', 'clone', '-q', remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD), name)
  const git = (...args: string[]) => client.git(name, ...args)
  const first = await git('rev-parse', 'HEAD')
  const second = await client.commit(name, 'second')
  await git('push', '-q', 'origin', 'main', 'main~1:refs/heads/old')
  const path = `/repos/bob/${name}`
  return {
    id: body.id as number,
    path,
    branches: `${path}/branches`,
    git,
    first,
    second,
    rule: (rule_name: string, settings: object = {}) =>
      rest(users.bob, 'POST', `${path}/branch_protections`, { rule_name, ...settings }),
    inside: (...args: string[]) =>
      client.git('.', '-C', repositoryPath(server.app.git, body.id), ...args),
  }
}

const told = ({ status, body }: RestAnswer) =>
  body.message === undefined ? [status] : [status, body.message]

describe('a new branch', () => {
  it.each<[title: string, body: object, at: 'first' | 'second']>([
    ['the default branch', {}, 'second'],
    ['a branch', { old_ref_name: 'old' }, 'first'],
    ['a branch in full', { old_ref_name: 'refs/heads/old' }, 'first'],
    ['a tag', { old_ref_name: 'v1' }, 'first'],
    ['ancestors', { old_ref_name: 'main~1' }, 'first'],
    ['a branch by the deprecated field', { old_branch_name: 'old' }, 'first'],
    ['a ref rather than a branch', { old_ref_name: 'main', old_branch_name: 'old' }, 'second'],
    ['a commit', { old_ref_name: 'FIRST' }, 'first'],
    ['the beginning of an id', { old_ref_name: 'SHORT' }, 'first'],
  ])('starts from %s', async (title, body, at) => {
    made ??= repository('creating').then(async (made) => {
      await made.git('tag', '-a', 'v1', '-m', 'v1', made.first)
      await made.git('push', '-q', 'origin', 'v1')
      return made
    })
    const { branches, ...ids } = await made
    const text = JSON.stringify(body)
      .replace('FIRST', ids.first)
      .replace('SHORT', ids.first.slice(0, 8))
    const new_branch_name = `new/${title.replaceAll(' ', '-')}`
    const answer = await rest(users.carol, 'POST', branches, {
      ...JSON.parse(text),
      new_branch_name,
    })
    expect([answer.status, answer.body]).toMatchObject([
      201,
      { name: new_branch_name, commit: { id: ids[at] } },
    ])
    expect((await rest(users.carol, 'GET', `${branches}/${new_branch_name}`)).body).toEqual(
      answer.body,
    )
    expect(await ids.inside('rev-parse', `refs/heads/${new_branch_name}`)).toBe(ids[at])
  })
  let made: ReturnType<typeof repository> | undefined

  it.each<[body: object, status: number, message: string]>([
    [{}, 422, '[NewBranchName]: Required'],
    [{ new_branch_name: 'a..b' }, 422, '[NewBranchName]: GitRefName'],
    [{ new_branch_name: '-d' }, 422, '[NewBranchName]: GitRefName'],
    [{ new_branch_name: 'x'.repeat(101) }, 422, '[NewBranchName]: MaxSize'],
    [{ new_branch_name: 'x', old_ref_name: 'nothing' }, 404, 'The old branch does not exist'],
    [{ new_branch_name: 'x', old_ref_name: MISSING }, 404, 'The old branch does not exist'],
    [{ new_branch_name: 'x', old_ref_name: 'main^{/x}' }, 404, 'The old branch does not exist'],
    [{ new_branch_name: 'x', old_branch_name: 'nothing' }, 404, 'The old branch does not exist'],
    [{ new_branch_name: 'x', old_branch_name: 'main~1' }, 404, 'The old branch does not exist'],
    [{ new_branch_name: 'x', old_branch_name: 'v1' }, 404, 'The old branch does not exist'],
    [{ new_branch_name: 'v1' }, 409, 'The branch with the same tag already exists.'],
    [{ new_branch_name: 'main' }, 409, 'The branch already exists.'],
    [{ new_branch_name: 'main/x' }, 409, 'The branch with the same name already exists.'],
    [{ new_branch_name: 'deep' }, 409, 'The branch with the same name already exists.'],
    [{ new_branch_name: MISSING }, 403, `refs/heads/${MISSING} looks like an object ID`],
  ])('is not created from %j', async (body, status, message) => {
    refusing ??= repository('not-creating').then(async (made) => {
      await made.git('push', '-q', 'origin', 'main:refs/tags/v1', 'main:deep/er')
      return made
    })
    expect(told(await rest(users.bob, 'POST', (await refusing).branches, body))).toEqual([
      status,
      message,
    ])
  })
  let refusing: ReturnType<typeof repository> | undefined

  it('can have slashes, percent signs and any letters, however the path encodes them', async () => {
    const { branches, git } = await repository('names')
    for (const name of ['feature/ä-b', 'a%b', 'x%2Fy', '日本/語', "o'k#&+", 'MAIN']) {
      const answer = await rest(users.bob, 'POST', branches, { new_branch_name: name })
      expect([answer.status, answer.body.name]).toEqual([201, name])
      const encoded = encodeURIComponent(name)
      expect((await rest(users.bob, 'GET', `${branches}/${encoded}`)).body).toEqual(answer.body)
      expect(
        (await rest(users.bob, 'GET', `${branches}/${encoded.replaceAll('%2F', '/')}`)).body,
      ).toEqual(answer.body)
      expect(await git('ls-remote', 'origin', `refs/heads/${name}`)).toContain(name)
      expect((await rest(users.bob, 'DELETE', `${branches}/${encoded}`)).status).toBe(204)
    }
  })

  it('is created once by concurrent requests', async () => {
    const { branches } = await repository('twice')
    const make = () => rest(users.bob, 'POST', branches, { new_branch_name: 'x' })
    const answers = await Promise.all([make(), make(), make()])
    expect(answers.map(told).sort()).toEqual([
      [201],
      [409, 'The branch already exists.'],
      [409, 'The branch already exists.'],
    ])
  })
})

describe('the name of a ref', () => {
  it('is valid only if git-check-ref-format(1) accepts it', () => {
    const random = seededRandom(3)
    const pieces = [
      'a',
      'B',
      '.',
      '/',
      '-',
      '~',
      '^',
      ':',
      '?',
      '*',
      '[',
      '\\',
      ' ',
      '@',
      '{',
      '.lock',
      '\x7f',
      '\t',
      'ü',
      '..',
    ] as const
    const allowed = (name: string) => {
      try {
        execFileSync('git', ['check-ref-format', `refs/heads/${name}`])
        return true
      } catch {
        return false
      }
    }
    const outcomes = [0, 0]
    for (let round = 0; round < 200; round += 1) {
      const name = Array.from({ length: 1 + random.below(5) }, () => random.pick(pieces)).join('')
      // Ours is stricter in two points.
      const expected = allowed(name) && !name.startsWith('-') && name !== '@'
      expect([name, isRefName(name)]).toEqual([name, expected])
      outcomes[Number(expected)] = (outcomes[Number(expected)] ?? 0) + 1
    }
    expect(Math.min(...outcomes)).toBeGreaterThan(8)
  })
})

describe('a branch deletion', () => {
  it('deletes a branch, but not the default branch or a protected one', async () => {
    const { path, branches, git, rule } = await repository('deleting')
    await git('push', '-q', 'origin', 'main:deep/er', 'main:kept/1', 'main:target')
    await rule('kept/*', { enable_push: true })
    await rest(users.bob, 'PATCH', path, { default_target_branch: 'target' })
    const del = async (name: string) =>
      told(await rest(users.carol, 'DELETE', `${branches}/${name}`))
    expect(await del('deep/er')).toEqual([204])
    expect(await del('deep/er')).toEqual([404, 'not found'])
    expect(await del('kept/2')).toEqual([404, 'not found'])
    expect(await del('a..b')).toEqual([404, 'not found'])
    expect(await del('main')).toEqual([403, 'can not delete default or pull request target branch'])
    expect(await del('target')).toEqual([
      403,
      'can not delete default or pull request target branch',
    ])
    expect(await del('kept/1')).toEqual([403, 'branch protected'])
    expect(told(await rest(users.ada, 'DELETE', `${branches}/kept/1`))).toEqual([
      403,
      'branch protected',
    ])
    expect(await git('ls-remote', '--heads', 'origin', 'deep/er')).toBe('')
  })
})

describe('a branch move', () => {
  it('moves the branch forward, and back only with force', async () => {
    const { branches, git, first, second } = await repository('moving')
    const move = async (body: object) =>
      told(await rest(users.carol, 'PUT', `${branches}/old`, body))
    const at = () => git('ls-remote', 'origin', 'refs/heads/old').then((line) => line.slice(0, 40))
    expect(await move({ new_commit_id: second })).toEqual([204])
    expect(await at()).toBe(second)
    expect(await move({ new_commit_id: second, old_commit_id: second })).toEqual([204])
    expect(await move({ new_commit_id: first })).toEqual([
      422,
      'Force push old need a confirm force parameter',
    ])
    expect(await move({ new_commit_id: first, old_commit_id: first, force: true })).toEqual([
      422,
      `branch commit does not match [expected: ${first}, given: ${second}]`,
    ])
    expect(await at()).toBe(second)
    expect(await move({ new_commit_id: first, old_commit_id: second, force: true })).toEqual([204])
    expect(await at()).toBe(first)
    expect(await move({ new_commit_id: 'main' })).toEqual([204])
    expect(await at()).toBe(second)
    expect(await move({})).toEqual([422, '[NewCommitID]: Required'])
    for (const id of [MISSING, 'nothing', 'x'.repeat(300)])
      expect(await move({ new_commit_id: id })).toEqual([
        422,
        `object does not exist [id: ${id.slice(0, 100)}, rel_path: ]`,
      ])
    const missing = await rest(users.carol, 'PUT', `${branches}/nothing`, { new_commit_id: second })
    expect(told(missing)).toEqual([404, 'not found'])
  })

  it('is refused by a protection rule', async () => {
    const { branches, first, second, rule } = await repository('not-moving')
    await rule('old')
    await rule('main', { enable_push: true })
    const move = async (name: string, body: object) =>
      told(await rest(users.bob, 'PUT', `${branches}/${name}`, body))
    expect(await move('old', { new_commit_id: second })).toEqual([
      403,
      'Not allowed to push to protected branch old',
    ])
    expect(await move('main', { new_commit_id: first, force: true })).toEqual([
      403,
      'branch main is protected from force push',
    ])
  })

  it('during a push has the result of one of the two', async () => {
    const { branches, git, first, second } = await repository('racing')
    for (let round = 0; round < 3; round += 1) {
      await git('push', '-q', 'origin', `+${first}:refs/heads/old`)
      const third = await client.commit('racing', `third ${round}`)
      const [moved, pushed] = await Promise.all([
        rest(users.carol, 'PUT', `${branches}/old`, {
          new_commit_id: second,
          old_commit_id: first,
        }),
        git('push', '-q', 'origin', 'HEAD:old').then(
          () => true,
          () => false,
        ),
      ])
      const held = (await git('ls-remote', 'origin', 'refs/heads/old')).slice(0, 40)
      expect([204, 409, 422]).toContain(moved.status)
      // Both may have their way, one after the other: the push is a step forward from either.
      expect(held).toBe(pushed ? third : second)
      if (moved.status !== 204) expect(pushed).toBe(true)
      expect((await rest(users.bob, 'GET', `${branches}/old`)).body.commit.id).toBe(held)
    }
  })
})

describe('a branch rename', () => {
  it('updates everything that uses the name', async () => {
    const { id, path, branches, git, second, rule, inside } = await repository('renaming')
    await rule('main', { required_approvals: 2, enable_push: true })
    await rule('ma*')
    await rest(users.bob, 'PATCH', path, { default_target_branch: 'main' })
    expect(told(await rest(users.bob, 'PATCH', `${branches}/main`, { name: 'trunk/x' }))).toEqual([
      204,
    ])
    const { body } = await rest(users.bob, 'GET', path)
    expect(body).toMatchObject({ default_branch: 'trunk/x', default_target_branch: 'trunk/x' })
    expect(await inside('symbolic-ref', 'HEAD')).toBe('refs/heads/trunk/x')
    expect(await git('ls-remote', '--symref', 'origin', 'HEAD')).toContain(
      `ref: refs/heads/trunk/x\tHEAD\n${second}`,
    )
    expect(told(await rest(users.bob, 'GET', `${branches}/main`))).toEqual([404, 'not found'])
    expect((await rest(users.bob, 'GET', `${branches}/trunk/x`)).body).toMatchObject({
      commit: { id: second },
      protected: true,
      required_approvals: 2,
      effective_branch_protection_name: 'trunk/x',
    })
    const rules = await rest(users.bob, 'GET', `${path}/branch_protections`)
    expect(rules.body.map(({ rule_name }: { rule_name: string }) => rule_name)).toEqual([
      'trunk/x',
      'ma*',
    ])
    // What it was called leads to it, over two renames too.
    await rest(users.bob, 'PATCH', `${branches}/trunk/x`, { name: 'third' })
    const renames = server.app.db
      .selectFrom('branch_renames')
      .select(['old_name', 'new_name', 'pending_update_id'])
    expect(await renames.where('repository_id', '=', id).orderBy('old_name').execute()).toEqual([
      { old_name: 'main', new_name: 'third', pending_update_id: null },
      { old_name: 'trunk/x', new_name: 'third', pending_update_id: null },
    ])
    await rest(users.bob, 'PATCH', `${branches}/third`, { name: 'trunk/x' })
    expect(await renames.where('repository_id', '=', id).orderBy('old_name').execute()).toEqual([
      { old_name: 'main', new_name: 'trunk/x', pending_update_id: null },
      { old_name: 'third', new_name: 'trunk/x', pending_update_id: null },
    ])
  })

  it.each<
    [
      title: string,
      who: 'bob' | 'carol',
      from: string,
      to: string,
      status: number,
      message?: string,
    ]
  >([
    ['without a name', 'bob', 'old', '', 422, '[Name]: Required'],
    ['to what is no name', 'bob', 'old', 'a b', 422, '[Name]: GitRefName'],
    ['to a name that is too long', 'bob', 'old', 'x'.repeat(101), 422, '[Name]: MaxSize'],
    [
      'to its own name',
      'bob',
      'old',
      'old',
      422,
      'Cannot rename a branch using the same name or rename to a branch that already exists.',
    ],
    [
      'to the name of another',
      'bob',
      'old',
      'main',
      422,
      'Cannot rename a branch using the same name or rename to a branch that already exists.',
    ],
    [
      'that is missing, to its own name',
      'bob',
      'nothing',
      'nothing',
      422,
      'Cannot rename a branch using the same name or rename to a branch that already exists.',
    ],
    ['that is missing', 'bob', 'nothing', 'x', 404, "Branch doesn't exist."],
    [
      'that is the default one, by a writer',
      'carol',
      'main',
      'x',
      403,
      'User must be a repo or site admin to rename default or protected branches.',
    ],
    [
      'that a glob protects, by a writer',
      'carol',
      'kept/1',
      'x',
      403,
      'User must be a repo or site admin to rename default or protected branches.',
    ],
    [
      'to a name where nobody pushes, by the owner',
      'bob',
      'old',
      'shut/x',
      403,
      'Failed to rename branch due to branch protection rules.',
    ],
    [
      'to a name where others push',
      'bob',
      'old',
      'carols',
      403,
      'Failed to rename branch due to branch protection rules.',
    ],
    [
      'to below another',
      'bob',
      'old',
      'main/x',
      409,
      'The branch with the same name already exists.',
    ],
    [
      'to below itself',
      'bob',
      'old',
      'old/x',
      409,
      'The branch with the same name already exists.',
    ],
    [
      'to the id of an object',
      'bob',
      'old',
      MISSING,
      403,
      `refs/heads/${MISSING} looks like an object ID`,
    ],
    ['to a name where it may be', 'carol', 'old', 'carols', 204],
    ['that a glob protects, by the owner', 'bob', 'kept/1', 'y', 204],
    ['to another case of its letters', 'bob', 'y', 'Y', 204],
  ])('%s', async (_, who, from, to, status, message) => {
    made ??= repository('not-renaming').then(async (made) => {
      await made.git('push', '-q', 'origin', 'main:kept/1')
      await made.rule('kept/*', { enable_push: true })
      await made.rule('shut/**')
      await made.rule('carols', {
        enable_push: true,
        enable_push_whitelist: true,
        push_whitelist_usernames: ['carol'],
      })
      return made
    })
    const { branches } = await made
    const answer = await rest(users[who], 'PATCH', `${branches}/${from}`, { name: to })
    expect(told(answer)).toEqual(message === undefined ? [status] : [status, message])
  })
  let made: ReturnType<typeof repository> | undefined

  it('wins or loses against a concurrent rename of the same branch or to the same name', async () => {
    const { path, branches, git, rule } = await repository('race-to-rename')
    await git('push', '-q', 'origin', 'main:a', 'main:b')
    const rename = async (from: string, to: string) =>
      (await rest(users.bob, 'PATCH', `${branches}/${from}`, { name: to })).status
    const names = async () =>
      (await git('ls-remote', '--heads', 'origin')).replaceAll(/.*heads\//g, '').split('\n')
    const toOne = await Promise.all([rename('a', 'x'), rename('b', 'x')])
    expect(toOne.filter((status) => status === 204)).toHaveLength(1)
    expect(toOne.every((status) => [204, 409, 422].includes(status))).toBe(true)
    expect((await names()).filter((name) => ['a', 'b', 'x'].includes(name))).toHaveLength(2)
    await rule('x', { enable_push: true })
    const ofOne = await Promise.all([rename('x', 'y'), rename('x', 'z')])
    expect(ofOne.filter((status) => status === 204)).toHaveLength(1)
    expect(ofOne.every((status) => [204, 404, 409, 422].includes(status))).toBe(true)
    const [renamed] = (await names()).filter((name) => ['x', 'y', 'z'].includes(name))
    expect(renamed).toBe(ofOne[0] === 204 ? 'y' : 'z')
    // The one who lost has not made the server forget what follows.
    expect((await rest(users.bob, 'GET', `${path}/branch_protections`)).body).toMatchObject([
      { rule_name: renamed },
    ])
    const open = server.app.db
      .selectFrom('branch_renames')
      .selectAll()
      .where('pending_update_id', 'is not', null)
    expect(await open.execute()).toEqual([])
  })

  it('is complete or undone after a crash', async () => {
    const { id, path, branches, second, rule } = await repository('crashing')
    await rule('main', { enable_push: true })
    await rule('old', { enable_push: true })
    const begin = (old_name: string, new_name: string) =>
      recordPendingUpdate(server.app, id, undefined, (tx, pending_update_id) =>
        putBranchRename(tx, { repository_id: id, old_name, new_name, pending_update_id }),
      )
    // As a server leaves it that was killed between Git and the rows, and one that was killed
    // before Git.
    await begin('main', 'trunk')
    await updateRefs(server.app.git, id, [
      { name: 'refs/heads/trunk', from: undefined, to: second },
      { name: 'refs/heads/main', from: second, to: undefined },
    ])
    await begin('old', 'never')
    // After a restart, no update is running.
    await reconcilePendingUpdates({ ...server.app, runningUpdates: new Set() })
    expect((await rest(users.bob, 'GET', path)).body.default_branch).toBe('trunk')
    const rules = (await rest(users.bob, 'GET', `${path}/branch_protections`)).body
    expect(rules.map(({ rule_name }: { rule_name: string }) => rule_name)).toEqual(['trunk', 'old'])
    expect((await rest(users.bob, 'GET', `${branches}/trunk`)).body.protected).toBe(true)
    expect((await rest(users.bob, 'GET', `${branches}/old`)).status).toBe(200)
  })
})

describe('the protection of a branch', () => {
  it('is that of the first matching rule, and depends on the caller', async () => {
    const { branches, rule, git } = await repository('viewing')
    await git('push', '-q', 'origin', 'main:release/1')
    await rule('release/*', {
      enable_push: true,
      enable_push_whitelist: true,
      push_whitelist_usernames: ['carol'],
      enable_merge_whitelist: true,
      merge_whitelist_usernames: ['bob'],
      required_approvals: 3,
      enable_status_check: true,
      status_check_contexts: ['ci'],
    })
    await rule('**')
    const protection = async (
      who: Pick<Actor, 'authorization'> | undefined,
      name = 'release/1',
    ) => {
      const one = (await rest(who, 'GET', `${branches}/${name}`)).body
      const listed = (await rest(who, 'GET', branches)).body
      expect(listed.find((branch: { name: string }) => branch.name === name)).toEqual(one)
      const { name: _, commit: __, ...others } = one
      return others
    }
    const common = {
      protected: true,
      required_approvals: 3,
      enable_status_check: true,
      status_check_contexts: ['ci'],
      effective_branch_protection_name: '',
    }
    expect(await protection(undefined)).toEqual({
      ...common,
      user_can_push: false,
      user_can_merge: false,
    })
    expect(await protection(users.carol)).toEqual({
      ...common,
      user_can_push: true,
      user_can_merge: false,
    })
    expect(await protection(users.bob)).toEqual({
      ...common,
      user_can_push: false,
      user_can_merge: true,
      effective_branch_protection_name: 'release/*',
    })
    expect(await protection(users.ada)).toMatchObject({
      effective_branch_protection_name: 'release/*',
    })
    const closed = {
      protected: true,
      required_approvals: 0,
      status_check_contexts: [],
      user_can_push: false,
    }
    expect(await protection(users.carol, 'old')).toMatchObject({ ...closed, user_can_merge: true })
    await rest(users.bob, 'DELETE', '/repos/bob/viewing/branch_protections/**')
    const open = {
      protected: false,
      user_can_push: true,
      user_can_merge: true,
      effective_branch_protection_name: '',
    }
    expect(await protection(users.bob, 'old')).toMatchObject(open)
    expect(await protection(undefined, 'old')).toMatchObject({
      user_can_push: false,
      user_can_merge: false,
    })
  })
})

describe('changes of branches', () => {
  /** Each change, in an order in which each succeeds. */
  const CHANGES = [
    ['POST', '', { new_branch_name: 'x' }, 201],
    ['PUT', '/x', { new_commit_id: 'main', force: true }, 204],
    ['PATCH', '/x', { name: 'y' }, 204],
    ['DELETE', '/y', undefined, 204],
  ] as const
  const answers = async (who: Pick<Actor, 'authorization'> | undefined, branches: string) => {
    const all = []
    for (const [method, tail, body] of CHANGES)
      all.push(await rest(who, method, `${branches}${tail}`, body))
    return all
  }

  it('require write access and a repository that is not archived', async () => {
    const { path, branches } = await repository('guarded')
    const statuses = async (who?: Pick<Actor, 'authorization'>) =>
      (await answers(who, branches)).map(({ status }) => status)
    const token = async (...scopes: string[]) => ({
      authorization: `token ${await createToken(server.url, users.carol, scopes)}`,
    })
    expect(await statuses()).toEqual([401, 401, 401, 401])
    await rest(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'read' })
    expect(await statuses(users.carol)).toEqual([403, 403, 403, 403])
    await rest(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    expect(await statuses(await token('read:repository'))).toEqual([403, 403, 403, 403])
    expect(await statuses(await token('write:repository'))).toEqual([201, 204, 204, 204])
    expect(await statuses(users.carol)).toEqual([201, 204, 204, 204])
    await rest(users.bob, 'PATCH', path, { archived: true })
    expect(await statuses(users.bob)).toEqual([423, 423, 423, 423])
    await rest(users.bob, 'PATCH', path, { archived: false, private: true })
    await rest(users.bob, 'DELETE', `${path}/collaborators/carol`)
    expect(await statuses(users.carol)).toEqual([404, 404, 404, 404])
  })

  it('require a branch, and are refused for a mirror', async () => {
    const { id } = (await rest(users.bob, 'POST', '/user/repos', { name: 'empty' })).body
    expect((await answers(users.bob, '/repos/bob/empty/branches')).map(told)).toEqual(
      CHANGES.map(() => [404, 'Git Repository is empty.']),
    )
    expect((await rest(users.bob, 'GET', '/repos/bob/empty/branches')).body).toEqual([])
    const mirror = await repository('mirror')
    await server.app.db
      .updateTable('repositories')
      .set({ mirror: 1 })
      .where('id', '=', mirror.id)
      .execute()
    expect((await answers(users.bob, mirror.branches)).map(told)).toEqual(
      CHANGES.map(() => [403, 'Git Repository is a mirror.']),
    )
    expect(id).toBeGreaterThan(0)
  })

  it('have the same reasons over gRPC', async () => {
    const { rule } = await repository('grpc')
    await rule('shut')
    const branches = forge.grpc(BranchService, users.bob)
    const repo = { owner: 'bob', repo: 'grpc' }
    expect(await branches.createBranch({ ...repo, newBranchName: 'x' })).toMatchObject({
      name: 'x',
      userCanPush: true,
    })
    await branches.moveBranch({ ...repo, branch: 'old', newCommitId: 'main' })
    await branches.renameBranch({ ...repo, branch: 'x', name: 'y' })
    await branches.deleteBranch({ ...repo, branch: 'y' })
    const reasonOf = async (call: Promise<unknown>) => {
      const { code, reason } = await refusalOf(call)
      return [code, reason]
    }
    const create = (newBranchName: string, oldRefName = '') =>
      reasonOf(branches.createBranch({ ...repo, newBranchName, oldRefName }))
    const move = (fields: object) =>
      reasonOf(branches.moveBranch({ ...repo, branch: 'old', newCommitId: 'main', ...fields }))
    const rename = (branch: string, name: string) =>
      reasonOf(branches.renameBranch({ ...repo, branch, name }))
    expect(await create('')).toEqual(['InvalidArgument', 'INVALID_FIELD'])
    expect(await create('main')).toEqual(['AlreadyExists', 'BRANCH_EXISTS'])
    expect(await create('main/x')).toEqual(['AlreadyExists', 'REF_NAME_COLLISION'])
    expect(await create('x', 'nothing')).toEqual(['NotFound', 'OLD_BRANCH_NOT_FOUND'])
    expect(await create('shut')).toEqual(['PermissionDenied', 'BRANCH_PROTECTED'])
    expect(await move({ branch: 'nothing' })).toEqual(['NotFound', 'BRANCH_NOT_FOUND'])
    expect(await move({ newCommitId: 'nothing' })).toEqual([
      'InvalidArgument',
      'BRANCH_COMMIT_NOT_FOUND',
    ])
    expect(await move({ oldCommitId: MISSING })).toEqual([
      'FailedPrecondition',
      'BRANCH_HEAD_DIFFERS',
    ])
    expect(await move({ newCommitId: 'main~1' })).toEqual(['FailedPrecondition', 'FORCE_REQUIRED'])
    expect(await rename('old', 'old')).toEqual(['AlreadyExists', 'BRANCH_RENAME_CONFLICT'])
    expect(await rename('nothing', 'z')).toEqual(['NotFound', 'BRANCH_NOT_FOUND'])
    expect(await rename('old', 'shut')).toEqual(['PermissionDenied', 'BRANCH_RENAME_PROTECTED'])
    expect(await reasonOf(branches.deleteBranch({ ...repo, branch: 'main' }))).toEqual([
      'FailedPrecondition',
      'BRANCH_NOT_DELETABLE',
    ])
    await rest(users.bob, 'POST', '/user/repos', { name: 'nothing-yet' })
    expect(
      await reasonOf(branches.deleteBranch({ owner: 'bob', repo: 'nothing-yet', branch: 'x' })),
    ).toEqual(['FailedPrecondition', 'REPOSITORY_EMPTY'])
  })
})
