import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { importHistory } from '../../support/histories.ts'
import { execFileSync } from '../../support/programs.ts'
import { PASSWORD } from '../../support/server.ts'

/** What repositories of other servers have, and no client makes by intention. */

const { server, users, client, rest, ask } = await openForge()

/** Makes an empty repository of bob, and one to push from. */
async function repository(name: string) {
  await ask(users.bob, 'POST', '/user/repos', { name })
  await client.git('.', 'init', '-q', '--bare', '-b', 'main', name)
  return {
    path: `/repos/bob/${name}`,
    folder: join(client.home, name),
    git: (...args: string[]) => client.git(name, ...args),
    push: () =>
      client.git(
        name,
        'push',
        '-q',
        remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD),
        'refs/heads/*:refs/heads/*',
      ),
  }
}

describe('a branch that is named like a full ref', () => {
  it('is found by its name, as by git-rev-parse(1)', async () => {
    const { path, folder, git, push } = await repository('full')
    importHistory(folder, [
      { message: 'main', files: { a: '1' } },
      { on: 'refs/heads/refs/heads/odd', message: 'odd', files: { a: '2' } },
    ])
    await push()
    const ids = async (...names: string[]) => (await git('rev-parse', ...names)).split('\n')
    for (const name of ['refs/heads/odd', 'refs/heads/refs/heads/odd', 'refs/heads/main']) {
      const [commit] = await ask(users.bob, 'GET', `${path}/commits?sha=${name}`)
      expect([commit.sha]).toEqual(await ids(name))
    }
    const { content } = await ask(users.bob, 'GET', `${path}/contents/a?ref=refs/heads/odd`)
    expect(Buffer.from(content, 'base64').toString()).toBe('2')
  })
})

describe('a file with a line feed in its name', () => {
  it('can be changed, deleted and renamed, and not be created', async () => {
    const { path, folder, push } = await repository('feeds')
    importHistory(folder, [{ message: 'one', files: { 'a\nb': '1', 'c\nd': '2' } }])
    await push()
    const at = (name: string) => `${path}/contents/${encodeURIComponent(name)}`
    const { sha } = await ask(users.bob, 'GET', at('a\nb'))
    const update = await ask(users.bob, 'PUT', at('a\nb'), { content: 'Mg==', sha })
    expect(update.content).toMatchObject({ path: 'a\nb' })
    await ask(users.bob, 'DELETE', at('a\nb'), { sha: update.content.sha })
    expect((await rest(users.bob, 'GET', at('a\nb'))).status).toBe(404)
    const move = { content: 'Mw==', from_path: 'c\nd' }
    expect((await ask(users.bob, 'PUT', at('c d'), move)).content.path).toBe('c d')
    for (const name of ['e\nf', 'a\nb']) {
      const created = await rest(users.bob, 'POST', at(name), { content: 'Mg==' })
      expect([created.status, created.headers.get('x-error-reason')]).toEqual([
        422,
        'INVALID_FILE_PATH',
      ])
    }
    const moved = { content: 'Mw==', from_path: 'c d' }
    expect((await rest(users.bob, 'PUT', at('c\nd'), moved)).status).toBe(422)
  })
})

describe('a commit at a time that no calendar has', () => {
  it.each(['9223372036854775807', '36028797018963968'])('is the latest: %s', async (time) => {
    const { path, folder, git } = await repository(`far-${time}`)
    importHistory(folder, [{ message: 'now', files: { a: '1' } }])
    const [tree, now] = [await git('rev-parse', 'main^{tree}'), await git('rev-parse', 'main')]
    const hash = (text: string) =>
      execFileSync('git', ['hash-object', '-t', 'commit', '-w', '--stdin', '--literally'], {
        cwd: folder,
        encoding: 'utf8',
        input: text,
      }).trimEnd()
    const signed = (when: string) =>
      `author Ada <ada@example.org> ${when} +0000\ncommitter Ada <ada@example.org> ${when} +0000\n`
    const far = hash(`tree ${tree}\n${signed(time)}\nfar\n`)
    const parents = `parent ${now}\nparent ${far}\n`
    const tip = hash(`tree ${tree}\n${parents}${signed('1770000100')}\nboth\n`)
    // Git refuses such a commit in a push.
    const { id } = await ask(users.bob, 'GET', path)

    await git('update-ref', 'refs/heads/main', tip)
    await git('push', '-q', repositoryPath(server.app.git, id), 'main:main')
    const commits = await ask(users.bob, 'GET', `${path}/commits?sha=${tip}`)
    expect(commits.map(({ sha }: { sha: string }) => sha)).toEqual([tip, far, now])
    expect(commits[1].commit.committer.date).toBe('9999-12-31T23:59:59Z')
    expect(commits[1].created).toBe('9999-12-31T23:59:59Z')
  })
})

describe('a repository in a network of forks', () => {
  it('is found by its owner, whatever its generation', async () => {
    const { bob, carol, ada } = users
    await ask(bob, 'POST', '/user/repos', { name: 'root', auto_init: true })
    await ask(carol, 'POST', '/repos/bob/root/forks', {})
    await ask(ada, 'POST', '/repos/carol/root/forks', {})
    const file = { content: 'Mg==', branch: 'main', new_branch: 'topic' }
    const { commit } = await ask(ada, 'POST', '/repos/ada/root/contents/topic.txt', file)
    const compared = await ask(bob, 'GET', '/repos/bob/root/compare/main...ada:topic')
    expect(compared.commits.map(({ sha }: { sha: string }) => sha)).toEqual([commit.sha])
    const draft = { title: 'x', head: 'ada:topic', base: 'main' }
    const pull = await ask(ada, 'POST', '/repos/bob/root/pulls', draft)
    expect(pull.head).toMatchObject({ sha: commit.sha, repo: { full_name: 'ada/root' } })
    // From a fork of a fork to the root.
    const back = await ask(bob, 'GET', '/repos/ada/root/compare/topic...bob:main')
    expect(back.total_commits).toBe(0)
  })
})
