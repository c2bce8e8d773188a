import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { PASSWORD } from '../../support/server.ts'

const forge = await openForge()
const { server, users, client, rest, ask } = forge
beforeAll(async () => {
  await ask(users.ada, 'POST', '/orgs', { username: 'acme' })
})
afterAll(forge.checkObjects)

type Name = 'ada' | 'bob' | 'carol'

/**
 * Makes a repository of bob with a first commit, that carol may write to, and returns what works in
 * its clone.
 */
async function repository(name: string) {
  await rest(users.bob, 'POST', '/user/repos', { name, auto_init: true })
  await rest(users.bob, 'PUT', `/repos/bob/${name}/collaborators/carol`, { permission: 'write' })
  await client.git('.', 'clone', '-q', remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD), name)
  const git = (...args: string[]) => client.git(name, ...args)
  const path = `/repos/bob/${name}`
  /** Pushes as somebody, and says what they are told; `ok` if nothing but that it worked. */
  const pushAs = async (who: Name, ...refs: string[]) => {
    const remote = remoteOf(server.url, `bob/${name}`, who, PASSWORD)
    try {
      await git('push', '-q', remote, ...refs)
      return 'ok'
    } catch (error) {
      const lines = String(error).split('\n')
      const texts = lines.flatMap(
        (line) => /^remote: error: (.*?)\s*$/.exec(line)?.[1]?.trim() || [],
      )
      return texts.length > 0 ? texts.join('; ') : String(error)
    }
  }
  return {
    path,
    git,
    pushAs,
    push: (...refs: string[]) => pushAs('bob', ...refs),
    commit: (message: string) => client.commit(name, message),
    /** Commits files, each with a content or null to remove it. */
    async change(files: Record<string, string | null>) {
      for (const [file, content] of Object.entries(files)) {
        if (content === null) {
          await git('rm', '-q', '--', file)
          continue
        }
        const full = join(client.home, name, file)
        await mkdir(dirname(full), { recursive: true })
        await writeFile(full, content)
      }
      await git('add', '--all')
      return client.commit(name, Object.keys(files).join(' ') || 'moved')
    },
    /** Makes a rule, or makes it anew. */
    async rule(rule_name: string, settings: object = {}) {
      await rest(users.bob, 'DELETE', `${path}/branch_protections/${encodeURIComponent(rule_name)}`)
      const made = await rest(users.bob, 'POST', `${path}/branch_protections`, {
        rule_name,
        ...settings,
      })
      expect(made.status).toBe(201)
    },
    remote: async () =>
      (await git('ls-remote', remoteOf(server.url, `bob/${name}`))).split('\n').sort(),
  }
}

const ZEROS = '0'.repeat(40)

/** A pack of no objects (gitformat-pack(5)). */
const NO_OBJECTS = Buffer.from(
  '5041434b0000000200000000029d08823bd8a8eab510ad6ac75c823cfd3ed31e',
  'hex',
)

/** Pushes what git itself would not, and returns what the server says to it. */
async function receive(path: string, command: string): Promise<string> {
  const length = (Buffer.byteLength(command) + 4).toString(16).padStart(4, '0')
  const objects = command.includes(` ${ZEROS} refs/`) ? [] : [NO_OBJECTS]
  const response = await fetch(`${server.url}/${path}.git/git-receive-pack`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${btoa(`bob:${PASSWORD}`)}`,
      'content-type': 'application/x-git-receive-pack-request',
    },
    body: Buffer.concat([Buffer.from(`${length}${command}0000`), ...objects]),
  })
  return response.text()
}

const REFUSED = 'Not allowed to push to protected branch main'
const OPEN = { enable_push: true }

describe('a push to a protected branch', () => {
  it('is allowed by the rule only, for the owner and administrators too', async () => {
    const { rule, push, pushAs, commit } = await repository('pushers')
    const outcomes = async () => {
      await commit('next')
      return [await push('main'), await pushAs('carol', 'main'), await pushAs('ada', 'main')].map(
        (text) => text.replace(REFUSED, 'no'),
      )
    }
    expect(await outcomes()).toEqual(['ok', 'ok', 'ok'])
    await rule('main')
    expect(await outcomes()).toEqual(['no', 'no', 'no'])
    await rule('main', OPEN)
    expect(await outcomes()).toEqual(['ok', 'ok', 'ok'])
    await rule('main', {
      ...OPEN,
      enable_push_whitelist: true,
      push_whitelist_usernames: ['carol'],
    })
    await commit('next')
    expect(await push('main')).toBe(REFUSED)
    expect(await pushAs('ada', 'main')).toBe(REFUSED)
    expect(await pushAs('carol', 'main')).toBe('ok')
    // A glob that comes first by its priority.
    await rule('MAI?', { priority: 1 })
    await rule('ma*', { ...OPEN, priority: 1 })
    await rest(users.bob, 'PATCH', '/repos/bob/pushers/branch_protections/main', { priority: 2 })
    await commit('next')
    expect(await push('main')).toBe('ok')
  })

  it('is allowed for the current members of a team', async () => {
    const { body: repo } = await rest(users.ada, 'POST', '/orgs/acme/repos', {
      name: 'teamed',
      auto_init: true,
    })
    const team = await rest(users.ada, 'POST', '/orgs/acme/teams', {
      name: 'Crew',
      units_map: { 'repo.code': 'write' },
    })
    await rest(users.ada, 'PUT', `/teams/${team.body.id}/repos/acme/teamed`)
    await rest(users.ada, 'PUT', `/teams/${team.body.id}/members/bob`)
    await rest(users.ada, 'PUT', '/repos/acme/teamed/collaborators/carol', { permission: 'write' })
    const rules = '/repos/acme/teamed/branch_protections'
    const lists = { enable_push: true, enable_push_whitelist: true, push_whitelist_teams: ['crew'] }
    await rest(users.ada, 'POST', rules, { rule_name: 'main', ...lists })
    await client.git(
      '.',
      'clone',
      '-q',
      remoteOf(server.url, 'acme/teamed', 'ada', PASSWORD),
      'teamed',
    )
    const push = async (who: Name) => {
      await client.commit('teamed', 'next')
      const remote = remoteOf(server.url, 'acme/teamed', who, PASSWORD)
      return client.git('teamed', 'push', '-q', remote, 'main').then(
        () => true,
        (error) => !String(error).includes(REFUSED),
      )
    }
    expect(repo.full_name).toBe('acme/teamed')
    expect([await push('bob'), await push('carol'), await push('ada')]).toEqual([
      true,
      false,
      false,
    ])
    await rest(users.ada, 'PUT', `/teams/${team.body.id}/members/carol`)
    await rest(users.ada, 'DELETE', `/teams/${team.body.id}/members/bob`)
    await rest(users.ada, 'PUT', '/repos/acme/teamed/collaborators/bob', { permission: 'write' })
    expect([await push('bob'), await push('carol')]).toEqual([false, true])
  })

  it('never deletes the branch', async () => {
    const { rule, push, pushAs } = await repository('deleting')
    await push('main:gone', 'main:stays')
    await rule('stays', { enable_push: true, enable_force_push: true })
    expect(await push(':stays')).toBe('branch stays is protected from deletion')
    expect(await pushAs('ada', ':stays')).toBe('branch stays is protected from deletion')
    expect(await push(':main')).toBe('branch main is the default branch and cannot be deleted')
    expect(await push(':gone')).toBe('ok')
  })

  it('creates a branch that matches a glob only for users who may push there', async () => {
    const { rule, push, pushAs } = await repository('creating')
    await rule('release/**', {
      ...OPEN,
      enable_push_whitelist: true,
      push_whitelist_usernames: ['carol'],
    })
    expect(await push('main:release/1/x')).toBe(
      'Not allowed to push to protected branch release/1/x',
    )
    expect(await pushAs('carol', 'main:release/1/x')).toBe('ok')
    expect(await push('main:releases/1')).toBe('ok')
  })

  it('compares the whole name of the branch, with trailing white space', async () => {
    const { rule, push, path } = await repository('spaces')
    await rule('wide-?')
    expect(await push('main:wide-\u3000')).toMatch(/^Not allowed to push to protected branch wide-/)
    expect(await push('main:narrow\u00A0')).toBe('ok')
    const { body } = await rest(users.bob, 'GET', `${path}/branches`)
    expect(body.map((branch: { name: string }) => branch.name)).toEqual(['main', 'narrow\u00A0'])
  })

  it.each<[title: string, lie: { from?: string; to?: string; name?: string }, told: RegExp]>([
    [
      'puts it at what is no commit',
      { to: 'main:README.md' },
      /moves from the commit that it is at/,
    ],
    [
      'claims that it is at what is nothing',
      { from: '1'.repeat(40) },
      /moves from the commit that it is at/,
    ],
    ['claims that it is at another commit', { from: 'main~1' }, /expected/],
    ['claims that it is not there', { from: ZEROS }, /already exists/],
    [
      'claims that it is not there to be deleted',
      { from: ZEROS, to: ZEROS },
      /is protected from deletion/,
    ],
    ['deletes it by a path', { name: 'refs/heads/./kept', to: ZEROS }, /funny refname/],
  ])('is not fooled by a client that %s', async (_, lie, told) => {
    lied ??= repository('lies').then(async (made) => {
      const last = await made.commit('second')
      await made.push('main', 'main:kept')
      await made.rule('kept', OPEN)
      return { ...made, last }
    })
    const { git, last } = await lied
    const { from = 'main', to = 'main~1', name = 'refs/heads/kept' } = lie
    const idOf = (text: string) => (/^[01]{40}$/.test(text) ? text : git('rev-parse', text))
    const command = `${await idOf(from)} ${await idOf(to)} ${name}\0report-status side-band-64k`
    const logged = server.logged.length
    expect(await receive('bob/lies', command)).toMatch(told)
    expect(await git('ls-remote', 'origin', 'refs/heads/kept')).toContain(last)
    // A client that lies is no fault of the server.
    const pending = () => server.app.db.selectFrom('pending_ref_updates').selectAll().execute()
    await expect.poll(pending).toEqual([])
    expect(server.logged.slice(logged).filter(({ level }) => level === 'error')).toEqual([])
  })
  let lied: Promise<Awaited<ReturnType<typeof repository>> & { last: string }> | undefined

  it('reports the refusal of each ref, and moves none', async () => {
    const { rule, push, commit, git, remote } = await repository('five')
    await push('main:open', 'main:shut', 'main:kept', 'main:linear')
    const first = await git('rev-parse', 'HEAD')
    await git('commit', '-q', '--amend', '-m', 'rewritten')
    await rule('shut')
    await rule('kept', OPEN)
    await rule('linear', OPEN)
    await rest(users.bob, 'POST', '/repos/bob/five/tag_protections', {
      name_pattern: 'v*',
      whitelist_usernames: ['carol'],
    })
    await commit('next')
    const before = await remote()
    const refs = ['+main:open', '+main:shut', ':kept', '+main:linear', 'main:refs/tags/v1']
    expect((await push(...refs)).split('; ')).toEqual([
      'branch kept is protected from deletion',
      'branch linear is protected from force push',
      'branch shut is protected from force push',
      'Tag v1 is protected',
    ])
    expect(await remote()).toEqual(before)
    expect(before.filter((line) => line.startsWith(first))).toHaveLength(6)
    expect(await push('+main:open')).toBe('ok')
  })

  it('may lose commits only where the rule allows the pusher to force', async () => {
    const { rule, push, pushAs, commit, git } = await repository('forcing')
    const rewrite = async () => {
      await commit('next')
      await push('main:work')
      await git('commit', '-q', '--amend', '--allow-empty', '-m', `rewritten ${Math.random()}`)
    }
    await rewrite()
    await rule('work', OPEN)
    expect(await push('+main:work')).toBe('branch work is protected from force push')
    await rule('work', { enable_push: true, enable_force_push: true })
    expect(await push('+main:work')).toBe('ok')
    await rewrite()
    const lists = { enable_force_push_allowlist: true, force_push_allowlist_usernames: ['carol'] }
    await rule('work', { enable_push: true, enable_force_push: true, ...lists })
    expect(await push('+main:work')).toBe('Not allowed to force-push to protected branch work')
    expect(await pushAs('carol', '+main:work')).toBe('ok')
    // Nothing is lost: no matter how it is pushed.
    await commit('next')
    expect(await push('+main:work')).toBe('ok')
    // Back by one commit is lost, too.
    expect(await push('+main~1:work')).toBe('Not allowed to force-push to protected branch work')
  })
})

describe('a protected file', () => {
  const PROTECTED = { ...OPEN, protected_file_patterns: 'secret/**;LOCK.txt' }

  it('is not changed by any commit of a push, even if a later commit reverts it', async () => {
    const { rule, push, change, git } = await repository('middle')
    await rule('main', PROTECTED)
    await change({ a: '1' })
    await change({ 'secret/x': '1' })
    await change({ 'secret/x': null })
    expect(await push('main')).toBe('branch main is protected from changing file secret/x')
    await git('reset', '-q', '--hard', 'HEAD~2')
    expect(await push('main')).toBe('ok')
  })

  it('is neither the source nor the target of a rename, in upper or lower case', async () => {
    const { rule, push, change, git } = await repository('renaming')
    await change({
      'Secret/Größe.txt': 'a\nlong\nfile\nthat\nis\nfound\nagain',
      'other.txt': 'another\nlong\nfile\n',
    })
    await push('main')
    await rule('main', PROTECTED)
    await git('mv', 'Secret/Größe.txt', 'free.txt')
    await change({})
    expect(await push('main')).toBe('branch main is protected from changing file secret/größe.txt')
    await git('reset', '-q', '--hard', 'HEAD~1')
    await git('mv', 'other.txt', 'lock.TXT')
    await change({})
    expect(await push('main')).toBe('branch main is protected from changing file lock.txt')
  })

  it('is changed neither by a merge nor by a push that drops its change', async () => {
    const { rule, push, change, git } = await repository('merging')
    await change({ 'secret/x': '1' })
    await push('main')
    await rule('main', { ...PROTECTED, enable_force_push: true })
    expect(await push('+main~1:main')).toBe('branch main is protected from changing file secret/x')
    // Of the other side nothing is new to the branch, but that it is taken back to it.
    await git('checkout', '-q', '-b', 'side', 'main~1')
    await change({ b: '1' })
    await git('merge', '-q', '--no-edit', '-s', 'ours', 'main')
    expect(await push('side:main')).toBe('branch main is protected from changing file secret/x')
    await git('checkout', '-q', '-B', 'side', 'main~1')
    await change({ c: '1' })
    await git('merge', '-q', '--no-commit', 'main')
    await change({ 'secret/y': '1' })
    expect(await push('side:main')).toBe('branch main is protected from changing file secret/y')
  })

  it('is not changed through another branch', async () => {
    const { rule, push, change } = await repository('smuggling')
    await rule('main', PROTECTED)
    await rule('new/*', PROTECTED)
    await change({ 'secret/x': '1' })
    expect(await push('main:side')).toBe('ok')
    expect(await push('main')).toBe('branch main is protected from changing file secret/x')
    // A new branch at what others have changes nothing.
    expect(await push('main:new/1')).toBe('ok')
    await change({ 'secret/y': '1' })
    expect(await push('main:new/2')).toBe('branch new/2 is protected from changing file secret/y')
  })

  it('can be in the first commit', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'first' })
    await rest(users.bob, 'POST', '/repos/bob/first/branch_protections', {
      rule_name: 'main',
      ...PROTECTED,
    })
    await client.git('.', 'init', '-q', '-b', 'main', 'first')
    await writeFile(join(client.home, 'first', 'LOCK.txt'), '')
    await client.git('first', 'add', '.')
    await client.commit('first', 'first')
    const remote = remoteOf(server.url, 'bob/first', 'bob', PASSWORD)
    await expect(client.git('first', 'push', remote, 'main')).rejects.toThrow(
      'branch main is protected from changing file lock.txt',
    )
  })
})

describe('an unprotected file', () => {
  it('can be changed by all users with write access, without other changes', async () => {
    const { rule, push, change, git } = await repository('unprotected')
    await rule('main', { unprotected_file_patterns: 'docs/**;*.md' })
    await change({ 'docs/a/b.txt': '1', 'README.md': '1' })
    await change({ 'docs/a/b.txt': null })
    expect(await push('main')).toBe('ok')
    await change({ 'README.md': '2', 'src/a': '1' })
    expect(await push('main')).toBe(REFUSED)
    await git('reset', '-q', '--hard', 'HEAD~1')
    await git('commit', '-q', '--allow-empty', '-m', 'nothing')
    expect(await push('main')).toBe(REFUSED)
  })
})

describe('signed commits', () => {
  it('are required by a branch with that rule', async () => {
    const { rule, push, commit } = await repository('signing')
    await rule('main', { ...OPEN, require_signed_commits: true })
    await commit('unsigned')
    const id = await commit('unsigned as well')
    expect(await push('main')).toBe(`branch main is protected from unverified commit ${id}`)
    expect(await push('main:side')).toBe('ok')
    expect(await push('main')).toBe(`branch main is protected from unverified commit ${id}`)
    await rule('side2', { ...OPEN, require_signed_commits: true })
    expect(await push('main:side2')).toBe('ok')
  })
})

describe('a change over the API', () => {
  it('follows the rules for a push of the caller', async () => {
    const { path, rule, push, git } = await repository('api')
    await push('main:side')
    await rule('main', {
      ...OPEN,
      protected_file_patterns: 'a',
      enable_push_whitelist: true,
      push_whitelist_usernames: ['carol'],
    })
    const write = (who: Name, file: string, branch = 'main') =>
      rest(users[who], 'POST', `${path}/contents/${file}`, { content: '', branch })
    expect(await write('bob', 'x')).toMatchObject({ status: 403, body: { message: REFUSED } })
    expect(await write('carol', 'a')).toMatchObject({
      status: 403,
      body: { message: 'branch main is protected from changing file a' },
    })
    expect((await write('carol', 'x')).status).toBe(201)
    expect((await write('bob', 'x', 'side')).status).toBe(201)
    await rule('made/*')
    const make = (new_branch_name: string) =>
      rest(users.bob, 'POST', `${path}/branches`, { new_branch_name })
    expect(await make('made/x')).toMatchObject({
      status: 403,
      body: { message: 'Not allowed to push to protected branch made/x' },
    })
    expect((await make('other')).status).toBe(201)
    const other = await rest(users.bob, 'POST', `${path}/contents/y`, {
      content: '',
      branch: 'side',
      new_branch: 'made/y',
    })
    expect(other).toMatchObject({
      status: 403,
      body: { message: 'Not allowed to push to protected branch made/y' },
    })
    await rule('side', OPEN)
    const back = await git('rev-parse', 'HEAD')
    const move = (new_commit_id: string) =>
      rest(users.bob, 'PUT', `${path}/branches/side`, { new_commit_id, force: true })
    expect(await move(back)).toMatchObject({
      status: 403,
      body: { message: 'branch side is protected from force push' },
    })
  })
})

describe('the rules for new commits', () => {
  it('refuse messages and authors that do not match, in any new commit, also of administrators', async () => {
    const { rule, push, pushAs, commit, git } = await repository('commit-texts')
    await rule('main', {
      ...OPEN,
      commit_message_pattern: '^(feat|fix): ',
      commit_author_email_pattern: '@example[.]org$',
    })
    await commit('update')
    const update = (await git('rev-parse', 'HEAD')).trim()
    await commit('feat: a pond')
    const refusal = `branch main is protected from commit ${update}, because its message does not match ^(feat|fix): `
    expect([await push('main'), await pushAs('ada', 'main')]).toEqual([
      refusal.trim(),
      refusal.trim(),
    ])
    expect(await push('main:other')).toBe('ok')
    await git('push', '-q', remoteOf(server.url, 'bob/commit-texts', 'bob', PASSWORD), ':other')

    await git('reset', '-q', '--hard', 'HEAD~2')
    await commit('fix: a leak')
    await git(
      'commit',
      '-q',
      '--allow-empty',
      '--amend',
      '--author=Bob <bob@elsewhere.example>',
      '--no-edit',
    )
    const foreign = (await git('rev-parse', 'HEAD')).trim()
    expect(await push('main')).toBe(
      `branch main is protected from commit ${foreign}, because its author address does not match @example[.]org$`,
    )
    await git('commit', '-q', '--allow-empty', '--amend', '--reset-author', '--no-edit')
    expect(await push('main')).toBe('ok')
  })

  it('leave the messages of merges alone, and hold for merges of pull requests and changes over the API', async () => {
    const { rule, push, pushAs, commit, git, path } = await repository('commit-merges')
    await rule('main', { ...OPEN, commit_message_pattern: '^fix: ' })
    await git('switch', '-q', '-c', 'topic')
    await commit('update')
    expect(await push('topic')).toBe('ok')
    const pull = await rest(users.bob, 'POST', `${path}/pulls`, {
      head: 'topic',
      base: 'main',
      title: 'fix: a leak',
    })
    expect(pull.status).toBe(201)
    const merge = (Do: string) =>
      rest(users.bob, 'POST', `${path}/pulls/${pull.body.number}/merge`, { Do })
    const refused = await merge('merge')
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      409,
      expect.stringContaining('its message does not match ^fix: '),
    ])
    expect((await merge('squash')).status).toBe(200)

    const write = (message: string, name: string) =>
      rest(users.bob, 'POST', `${path}/contents/${name}`, {
        message,
        content: btoa('x'),
        branch: 'main',
      })
    expect((await write('update', 'a')).status).toBe(403)
    expect((await write('fix: a', 'a')).status).toBe(201)

    await git('fetch', '-q', remoteOf(server.url, 'bob/commit-merges', 'bob', PASSWORD), 'main')
    await git('switch', '-q', '-C', 'main', 'FETCH_HEAD')
    await commit('fix: one')
    await git('switch', '-q', '-c', 'side', 'HEAD~1')
    await commit('fix: two')
    await git('switch', '-q', 'main')
    await git('merge', '-q', '--no-ff', '-m', 'Merge the side', 'side')
    expect(await pushAs('carol', 'main')).toBe('ok')
  })

  it('limit the size of files, even of those that a later commit removes', async () => {
    const { rule, push, change, git } = await repository('commit-sizes')
    await rule('*', { ...OPEN, enable_force_push: true, max_file_bytes: 1000 })
    await change({ 'small.bin': 'a'.repeat(1000) })
    expect(await push('main')).toBe('ok')
    await change({ 'media/large.bin': 'b'.repeat(1001) })
    await change({ 'media/large.bin': null })
    const refusal = (branch: string) =>
      `branch ${branch} is protected from files of more than 1000 bytes, such as media/large.bin`
    expect([await push('main'), await push('main:fresh')]).toEqual([
      refusal('main'),
      refusal('fresh'),
    ])
    await git('reset', '-q', '--hard', 'HEAD~2')
    await change({ 'next.bin': 'c' })
    expect(await push('main')).toBe('ok')
  })

  it('decide about the names of new branches', async () => {
    const { rule, push, path } = await repository('branch-names')
    expect(await push('main:old')).toBe('ok')
    await rule('*', { ...OPEN, branch_name_pattern: '^(main|feature-[0-9]+)$' })
    const refusal = (name: string) =>
      `branch ${name} cannot be created, because its name does not match ^(main|feature-[0-9]+)$`
    expect([await push('main:feature-12'), await push('main:mine')]).toEqual([
      'ok',
      refusal('mine'),
    ])
    const create = (new_branch_name: string) =>
      rest(users.bob, 'POST', `${path}/branches`, { new_branch_name, old_branch_name: 'main' })
    expect([(await create('feature-13')).status, (await create('other')).status]).toEqual([
      201, 403,
    ])
    const rename = (name: string) =>
      rest(users.bob, 'PATCH', `${path}/branches/feature-13`, { name })
    expect([(await rename('other')).status, (await rename('feature-14')).status]).toEqual([
      403, 204,
    ])
  })

  it.each([
    [{ commit_message_pattern: '(' }, 'commit_message_pattern'],
    [{ commit_author_email_pattern: 'a\nb' }, 'commit_author_email_pattern'],
    [{ branch_name_pattern: '(a{100}){100}' }, 'branch_name_pattern'],
    [{ max_file_bytes: -1 }, 'max_file_bytes'],
  ])('are refused when they are no rules: %j', async (settings, field) => {
    const { path } = await repository(`bad-rules-${field.replaceAll('_', '-')}`)
    const made = await rest(users.bob, 'POST', `${path}/branch_protections`, {
      rule_name: 'main',
      ...settings,
    })
    expect([made.status, JSON.stringify(made.body)]).toEqual([422, expect.stringContaining(field)])
  })
})
