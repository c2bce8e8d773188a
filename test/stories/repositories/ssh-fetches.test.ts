import { beforeAll, describe, expect, it, vi } from 'vitest'
import { PackCache } from '../../../src/platform/git/packs/pack-cache.ts'
import { currentRefs } from '../../../src/platform/git/packs/ref-snapshots.ts'
import { gitProcessesOf } from '../../platform/git/fixture.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { runProgram, textOf } from '../../support/programs.ts'
import { PASSWORD } from '../../support/server.ts'
import { createSshKey, hasSsh, sshOptions } from '../../support/ssh-client.ts'

const { ask, client, server, users, checkObjects } = await openForge({
  ssh: { listen: { host: '127.0.0.1', port: 0 }, public: {}, user: 'git', hostKeyFiles: [] },
})

const port = server.sshAddress?.split(':').at(-1) ?? ''
const url = `ssh://git@127.0.0.1:${port}/bob/films.git`
const packet = (text: string) => `${(text.length + 5).toString(16).padStart(4, '0')}${text}\n`
const REFS = `${packet('command=ls-refs')}0001${packet('peel')}${packet('ref-prefix refs/heads/')}0000`
let head = ''

const fetchOf = (want: string, ...more: string[]) =>
  [
    packet('command=fetch'),
    '0001',
    ...['no-progress', `want ${want}`, ...more].map(packet),
    '0000',
  ].join('')

const git = (...args: string[]) => {
  const command = ['ssh', ...sshOptions(client.home, 'key')].join(' ')
  return client.git('.', '-c', `core.sshCommand=${command}`, '-c', 'protocol.version=2', ...args)
}

/** Runs the service of fetches with an input that is sent as a whole. */
async function talk(input: string | Buffer) {
  const options = [...sshOptions(client.home, 'key'), '-o', 'SetEnv=GIT_PROTOCOL=version=2']
  const command = ['-p', port, 'git@127.0.0.1', "git-upload-pack 'bob/films'"]
  const { status, stdout } = await runProgram('ssh', [...options, ...command], { input })
  return { code: status, output: Buffer.from(stdout).toString('latin1') }
}

/** Asks the same over HTTP. */
async function overHttp(body?: string): Promise<string> {
  const path = body === undefined ? 'info/refs?service=git-upload-pack' : 'git-upload-pack'
  const answer = await fetch(`${server.url}/bob/films.git/${path}`, {
    headers: {
      ...(body !== undefined && { 'content-type': 'application/x-git-upload-pack-request' }),
      'git-protocol': 'version=2',
      authorization: `Basic ${btoa(`bob:${PASSWORD}`)}`,
    },
    ...(body !== undefined && { method: 'POST', body }),
  })
  const text = Buffer.from(await answer.arrayBuffer()).toString('latin1')
  return text.replace(/^001e# service=git-upload-pack\n0000/, '')
}

/** Waits until the server knows the refs, which takes seconds after a change. */
async function settled(): Promise<void> {
  const { id } = await ask(users.bob, 'GET', '/repos/bob/films')
  await vi.waitFor(
    async () => {
      if (!(await currentRefs(server.app.git, id))) throw new Error('a ref has changed just now')
    },
    { timeout: 30_000, interval: 100 },
  )
}

describe.skipIf(!hasSsh)('fetches over SSH (skipped where ssh is not installed)', () => {
  beforeAll(async () => {
    const key = await createSshKey(client.home, 'key')
    await ask(users.bob, 'POST', '/user/keys', { title: 'key', key })
    await ask(users.bob, 'POST', '/user/repos', { name: 'films', private: true })
    await client.git('.', 'init', '-q', '-b', 'main', 'films')
    await client.commit('films', 'first')
    head = await client.commit('films', 'second')
    await client.git(
      'films',
      'push',
      '-q',
      remoteOf(server.url, 'bob/films', 'bob', PASSWORD),
      'HEAD:main',
    )
    await settled()
  })

  it('list refs without a process, as over HTTP', async () => {
    const list = () => git('ls-remote', '-q', url)
    const answer = await list()
    expect(answer).toContain(`${head}\trefs/heads/main`)
    expect(await gitProcessesOf(server.app.git, list)).toBe(0)
    const listed = { code: 0, output: (await overHttp()) + (await overHttp(REFS)) }
    expect(await talk(`${REFS}0000`)).toEqual(listed)
    // A client may leave without a word.
    expect(await talk(REFS)).toEqual(listed)
    expect(await talk('')).toEqual({ code: 0, output: await overHttp() })
  })

  it('answer requests in their order, also those that were sent before an answer', async () => {
    const [shown, refs] = [await overHttp(), await overHttp(REFS)]
    const clone = fetchOf(head, 'done')
    const { code, output } = await talk(`${REFS}${REFS}${clone}${REFS}${clone}${REFS}0000`)
    expect(code).toBe(0)
    const pack = await overHttp(clone)
    expect(pack).toMatch(/^000dpackfile\n.*0000$/s)
    // The division of a pack into packets is Git's.
    const parts = output.split('000dpackfile\n')
    expect(parts).toHaveLength(3)
    expect(parts[0]).toBe(shown + refs + refs)
    for (const part of parts.slice(1)) expect(part.endsWith(`0000${refs}`)).toBe(true)
  })

  it('negotiate in several requests', async () => {
    const unknown = 'have 0123456789012345678901234567890123456789'
    const asked = fetchOf(head, unknown)
    const { code, output } = await talk(`${asked}${fetchOf(head, unknown, 'done')}`)
    expect(code).toBe(0)
    expect(output).toContain(`${packet('acknowledgments')}${packet('NAK')}0000`)
    expect(output).toMatch(/000dpackfile\n.*0000$/s)
    await git('clone', '-q', '--depth', '1', url, 'shallow')
    await git('-C', 'shallow', 'fetch', '-q', '--unshallow')
    for (let i = 0; i < 100; i++)
      await client.git('shallow', 'commit', '-q', '--allow-empty', '-m', `${i}`)
    head = await client.commit('films', 'third')
    await client.git(
      'films',
      'push',
      '-q',
      remoteOf(server.url, 'bob/films', 'bob', PASSWORD),
      'HEAD:main',
    )
    await git('-C', 'shallow', 'fetch', '-q', 'origin')
    expect(await client.git('shallow', 'rev-parse', 'origin/main')).toBe(head)
    await client.git('shallow', 'fsck', '--strict')
    await git('clone', '-q', '--filter=blob:none', url, 'partial')
    await client.git('partial', 'rev-parse', 'HEAD')
    await checkObjects()
  })

  it('share one pack, also with clones over HTTP', async () => {
    await settled()
    await git('clone', '-q', url, 'herd')
    const read = vi.spyOn(PackCache.prototype, 'read')
    const clones = Array.from({ length: 6 }, (_, i) => git('clone', '-q', url, `herd-${i}`))
    await Promise.all(clones)
    expect(read).toHaveBeenCalledTimes(clones.length)
    await client.git(
      '.',
      'clone',
      '-q',
      remoteOf(server.url, 'bob/films', 'bob', PASSWORD),
      'mixed',
    )
    expect(read).toHaveBeenCalledTimes(clones.length + 1)
    read.mockRestore()
    for (const name of ['herd-0', 'herd-5', 'mixed']) {
      expect(await client.git(name, 'rev-parse', 'HEAD')).toBe(head)
      await client.git(name, 'fsck', '--strict')
    }
  })

  it('end with an error for what is no request', async () => {
    for (const wrong of [packet('command=unknown'), 'zzzz', `${packet('want x')}0000`]) {
      const { code, output } = await talk(`${REFS}${wrong}`)
      expect(code, wrong).toBe(128)
      expect(output).toBe((await overHttp()) + (await overHttp(REFS)))
    }
    const unknown = '1'.repeat(40)
    const { code, output } = await talk(`${fetchOf(unknown, 'done')}${REFS}0000`)
    expect(code).toBe(128)
    expect(output).toContain(`ERR upload-pack: not our ref ${unknown}`)
    expect(textOf(Buffer.from(output, 'latin1')).endsWith('0000')).toBe(false)
  })
})
