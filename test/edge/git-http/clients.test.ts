import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { type PushQuestion, refusal } from '../../../src/platform/git/hooks/push-review.ts'
import { updateRefs } from '../../../src/platform/git/refs/refs.ts'
import { createRepository } from '../../../src/platform/git/repositories/repositories.ts'
import { createFilledRepository, git } from '../../platform/git/fixture.ts'
import { ENGINE, type GitServer, gitClient, startGitServer } from './fixture.ts'

/** A server whose repository has one commit on `main`. */
async function filledServer(options: Parameters<typeof startGitServer>[0] = {}) {
  const server = await startGitServer(options)
  const commit = await createFilledRepository(server.repositories, ENGINE)
  return { server, commit, client: await gitClient() }
}

/** Nothing is broken, and nothing was left behind. */
function expectSound({ repositories }: GitServer): void {
  expect(git(repositories, ENGINE, 'fsck', '--full', '--strict', '--no-dangling')).toBe('')
  expect(git(repositories, ENGINE, 'count-objects', '-v')).toContain('garbage: 0')
}

describe('an unmodified Git client', () => {
  it.each([
    ['version 0', '0', 'engine.git'],
    ['version 1', '1', 'engine.git'],
    ['version 2', '2', 'engine.git'],
    ['a path without .git', '2', 'engine'],
    ['a path in other letters', '2', 'Engine.git'],
  ])('clones, pushes and fetches: %s', async (_, version, path) => {
    const { server, commit, client } = await filledServer()
    const url = `${server.url}/ada/${path}`
    const protocol = ['-c', `protocol.version=${version}`]
    await client.git('.', ...protocol, 'clone', '-q', url, 'mine')
    await client.git('.', ...protocol, 'clone', '-q', url, 'theirs')
    expect(await client.git('mine', 'rev-parse', 'HEAD')).toBe(commit)
    await writeFile(`${client.home}/mine/new.txt`, 'new\n')
    await client.git('mine', 'add', '.')
    await client.git('mine', 'commit', '-qm', 'second')
    await client.git('mine', ...protocol, 'push', '-q')
    await client.git('theirs', ...protocol, 'pull', '-q')
    expect(await readFile(`${client.home}/theirs/new.txt`, 'utf8')).toBe('new\n')
    expectSound(server)
  })

  it('clones an empty repository and makes its first push', async () => {
    const server = await startGitServer()
    await createRepository(server.repositories, ENGINE, 'trunk')
    const client = await gitClient()
    await client.git('.', 'clone', '-q', `${server.url}/ada/engine.git`, 'mine')
    await client.git('mine', 'commit', '-q', '--allow-empty', '-m', 'first')
    await client.git('mine', 'push', '-q')
    expect(git(server.repositories, ENGINE, 'rev-parse', 'refs/heads/trunk')).toBe(
      await client.git('mine', 'rev-parse', 'HEAD'),
    )
  })

  it('makes shallow and partial clones, and fetches the rest later', async () => {
    const { server, client } = await filledServer()
    const url = `${server.url}/ada/engine.git`
    await client.git('.', 'clone', '-q', url, 'mine')
    await client.git('mine', 'commit', '-q', '--allow-empty', '-m', 'second')
    await client.git('mine', 'push', '-q')
    await client.git('.', 'clone', '-q', '--depth=1', url, 'shallow')
    expect(await client.git('shallow', 'rev-list', '--count', 'HEAD')).toBe('1')
    await client.git('shallow', 'fetch', '-q', '--unshallow')
    expect(await client.git('shallow', 'rev-list', '--count', 'HEAD')).toBe('2')
    await client.git('.', 'clone', '-q', '--filter=blob:none', '--no-checkout', url, 'partial')
    expect(
      await client.git('partial', 'rev-list', '--objects', '--missing=print', 'HEAD'),
    ).toContain('?')
    await client.git('partial', 'checkout', '-q', 'main')
    expect(await readFile(`${client.home}/partial/README.md`, 'utf8')).toBe('# first\n')
  })

  it('pushes, moves and deletes several refs at once, with a body larger than its buffer', async () => {
    const { server, client } = await filledServer()
    await client.git('.', 'clone', '-q', `${server.url}/ada/engine.git`, 'mine')
    // Beyond http.postBuffer git sends chunks, and probes with a flush first.
    await writeFile(`${client.home}/mine/large.bin`, randomBytes(4 * 1024 * 1024))
    await client.git('mine', 'add', '.')
    await client.git('mine', 'commit', '-qm', 'large')
    await client.git('mine', 'tag', '-a', 'v1', '-m', 'one')
    await client.git('mine', 'push', '-q', 'origin', 'main', 'main:refs/heads/deep/er', 'v1')
    const refs = () =>
      git(server.repositories, ENGINE, 'for-each-ref', '--format=%(refname)').split('\n')
    expect(refs()).toEqual(['refs/heads/deep/er', 'refs/heads/main', 'refs/tags/v1'])
    // A push of that size keeps its pack; written one by one its few objects would be compressed
    // anew.
    expect(git(server.repositories, ENGINE, 'count-objects', '-v')).toMatch(
      /in-pack: 4\n.*packs: 1/s,
    )
    await client.git(
      'mine',
      'push',
      '-q',
      '--force',
      'origin',
      'HEAD~1:main',
      ':deep/er',
      ':refs/tags/v1',
    )
    expect(refs()).toEqual(['refs/heads/main'])
    expectSound(server)
  })

  it('compresses its request about a long history', async () => {
    const codings: unknown[] = []
    const { server, commit, client } = await filledServer({
      authorize: async ({ headers }) => {
        codings.push(headers['content-encoding'])
        return undefined as never
      },
    })
    await client.git('.', 'clone', '-q', `${server.url}/ada/engine.git`, 'mine')
    for (let n = 0; n < 40; n++)
      await client.git('mine', 'commit', '-q', '--allow-empty', '-m', `${n}`)
    const tree = git(server.repositories, ENGINE, 'rev-parse', 'main^{tree}')
    const identity = ['-c', 'user.name=ada', '-c', 'user.email=ada@example.org']
    const ahead = git(
      server.repositories,
      ENGINE,
      ...identity,
      'commit-tree',
      tree,
      '-p',
      commit,
      '-m',
      'ahead',
    )
    await updateRefs(server.repositories, ENGINE, [
      { name: 'refs/heads/main', from: commit, to: ahead },
    ])
    await client.git('mine', 'fetch', '-q')
    expect(await client.git('mine', 'rev-parse', 'origin/main')).toBe(ahead)
    expect(codings).toContain('gzip')
  })

  it('receives the reason if a push is too large, which leaves no objects', async () => {
    const { server, client } = await filledServer({ limits: { maxPushBytes: 1024 * 1024 } })
    await client.git('.', 'clone', '-q', `${server.url}/ada/engine.git`, 'mine')
    await writeFile(`${client.home}/mine/large.bin`, randomBytes(3 * 1024 * 1024))
    await client.git('mine', 'add', '.')
    await client.git('mine', 'commit', '-qm', 'large')
    await expect(client.git('mine', 'push', '-q')).rejects.toThrow('413')
    await Promise.all(server.started.map(({ exited }) => exited))
    expectSound(server)
  })

  it('cannot push objects that would attack a client that checks them out', async () => {
    const { server, commit, client } = await filledServer()
    await client.git('.', 'clone', '-q', `${server.url}/ada/engine.git`, 'mine')
    await writeFile(
      `${client.home}/tree`,
      `040000 tree ${await client.git('mine', 'rev-parse', 'HEAD^{tree}')}\t.git\n`,
    )
    const tree = await client.git(
      'mine',
      'hash-object',
      '-t',
      'tree',
      '-w',
      '--literally',
      await evilTree(client.home),
    )
    const evil = await client.git('mine', 'commit-tree', tree, '-p', commit, '-m', 'evil')
    await expect(client.git('mine', 'push', '-q', 'origin', `${evil}:main`)).rejects.toThrow(
      'hasDotgit',
    )
    expect(git(server.repositories, ENGINE, 'rev-parse', 'main')).toBe(commit)
    expectSound(server)
  })

  it('moves no ref of a push before all are reviewed', async () => {
    const seen: PushQuestion[] = []
    const { server, commit, client } = await filledServer({
      review: async (push) => {
        if (push.hook === 'pre-receive') seen.push(push)
        const isRefused = push.updates.some(({ name }) => name.startsWith('refs/for/'))
        return isRefused ? refusal(['not this one', 'accept']) : { accepted: true, lines: [] }
      },
    })
    await client.git('.', 'clone', '-q', `${server.url}/ada/engine.git`, 'mine')
    await client.git('mine', 'commit', '-q', '--allow-empty', '-m', 'second')
    const second = await client.git('mine', 'rev-parse', 'HEAD')
    const refused = client.git('mine', 'push', '-q', 'origin', 'main', 'main:refs/for/main')
    // A line that reads like the verdict is none.
    await expect(refused).rejects.toThrow(/remote: error: not this one\s+remote: error: accept/)
    expect(
      git(server.repositories, ENGINE, 'for-each-ref', '--format=%(objectname) %(refname)'),
    ).toBe(`${commit} refs/heads/main`)
    expect(seen[0]?.updates).toEqual([
      { name: 'refs/heads/main', from: commit, to: second },
      { name: 'refs/for/main', from: undefined, to: second },
    ])
    expect(seen[0]?.quarantine).toContain('/objects/')
    await client.git('mine', 'push', '-q', 'origin', 'main', 'main:refs/heads/other')
    await client.git('mine', 'push', '-q', 'origin', ':other')
    expect(seen[2]?.updates).toEqual([{ name: 'refs/heads/other', from: second, to: undefined }])
    expectSound(server)
  })

  it('pushes nothing when the review fails', async () => {
    const { server, commit, client } = await filledServer({
      review: async () => {
        throw new Error('a path of the server')
      },
    })
    await client.git('.', 'clone', '-q', `${server.url}/ada/engine.git`, 'mine')
    await client.git('mine', 'commit', '-q', '--allow-empty', '-m', 'second')
    const pushed = client.git('mine', 'push', '-q').catch(({ stderr }) => stderr)
    expect(await pushed).toContain('remote: error: the server failed')
    expect(await pushed).not.toContain('a path')
    expect(git(server.repositories, ENGINE, 'rev-parse', 'main')).toBe(commit)
  })

  it('signs in when the server requires credentials', async () => {
    const { server, client } = await filledServer({
      authorize: async ({ headers }) => {
        const expected = `Basic ${Buffer.from('ada:secret').toString('base64')}`
        // The fixture grants what nobody has refused.
        if (headers.authorization === expected) return undefined as never
        return { outcome: 'refused', status: 401, message: 'sign in first' }
      },
    })
    await expect(client.git('.', 'ls-remote', `${server.url}/ada/engine.git`)).rejects.toThrow(
      'could not read Username',
    )
    const url = server.url.replace('//', '//ada:secret@')
    expect(await client.git('.', 'ls-remote', `${url}/ada/engine.git`, 'HEAD')).toContain('HEAD')
  })

  it('shows the reason of a refusal', async () => {
    const { server, client } = await filledServer()
    await expect(
      client.git('.', 'clone', '-q', `${server.url}/ada/other.git`, 'mine'),
    ).rejects.toThrow('remote: Repository not found')
  })

  it('follows the redirect of a renamed repository', async () => {
    const { server, commit, client } = await filledServer({
      authorize: async (_, { name }) => {
        if (name !== 'motor') return undefined as never
        return { outcome: 'moved', owner: 'ada', name: 'engine' }
      },
    })
    await client.git('.', 'clone', '-q', `${server.url}/ada/motor.git`, 'mine')
    expect(await client.git('mine', 'rev-parse', 'HEAD')).toBe(commit)
  })
})

/** The path of a file with a tree that has a folder `.git`, an empty one. */
async function evilTree(home: string): Promise<string> {
  const emptyTree = Buffer.from('4b825dc642cb6eb9a060e54bf8d69288fbee4904', 'hex')
  const file = `${home}/evil-tree`
  await writeFile(file, Buffer.concat([Buffer.from('40000 .git\0'), emptyTree]))
  return file
}
