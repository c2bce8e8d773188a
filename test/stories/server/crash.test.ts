import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../support/commands.ts'
import { remoteOf } from '../../support/git-client.ts'
import { type ServerProcess, serveProcess } from '../../support/process.ts'
import { openProcessStory } from '../../support/process-story.ts'
import { execFileSync } from '../../support/programs.ts'
import { restAt } from '../../support/rest.ts'
import { type Actor, createTestUsers, PASSWORD } from '../../support/server.ts'
import { createSshKey, hasSsh, sshOptions } from '../../support/ssh-client.ts'
import { isLongTier } from '../../support/tier.ts'

/** Acknowledged writes, at the least, before the story ends. */
const WRITES = isLongTier ? 300 : 80

/** Acknowledged writes after which the server is killed, at a moment that differs each time. */
const WRITES_OF_A_LIFE = 30
const LONGEST_DELAY_MS = 100

/** Ten lives and the look at everything after each take twenty seconds on an idle machine. */
const TIMEOUT_MS = 600_000

/** What the server has said yes to. */
interface Acknowledged {
  /** Commits by branch; each has a tag of its name, too. */
  readonly branches: Map<string, string>
  readonly files: Set<string>
  readonly repositories: Set<string>
  readonly statuses: Set<string>
}

const countOf = ({ branches, files, repositories, statuses }: Acknowledged) =>
  branches.size + files.size + repositories.size + statuses.size

const { data, client } = await openProcessStory()

const serve = () => serveProcess(data, hasSsh ? ['--ssh-listen', '127.0.0.1:0'] : [])

/** Returns the URL of the repository over SSH, and lets the client know where its key is. */
async function sshRemoteOf(server: ServerProcess): Promise<string> {
  const known = await (await fetch(`${server.url}/-/known_hosts`)).text()
  const [, port] = /\]:(\d+) /.exec(known) ?? expect.fail('the server has no SSH')
  const command = ['ssh', ...sshOptions(client.home, 'own')].join(' ')
  await client.git('mine', 'config', 'core.sshCommand', command)
  return `ssh://git@127.0.0.1:${port}/bob/pushed.git`
}

describe('a server that is killed repeatedly during writes', () => {
  it(
    `keeps all ${WRITES} acknowledged writes, and its data is intact`,
    async () => {
      const acknowledged: Acknowledged = {
        branches: new Map(),
        files: new Set(),
        repositories: new Set(),
        statuses: new Set(),
      }
      const first = await serve()
      const { bob } = await createTestUsers(first.url)
      if (hasSsh) {
        const key = await createSshKey(client.home, 'own')
        await restAt(first.url)(bob, 'POST', '/user/keys', { title: 'own', key })
      }
      for (const name of ['pushed', 'written']) {
        await restAt(first.url)(bob, 'POST', '/user/repos', { name, auto_init: true })
      }
      await client.git('.', 'clone', '-q', remoteOf(first.url, 'bob/pushed'), 'mine')
      const [commit = ''] = (
        await client.git('.', 'ls-remote', remoteOf(first.url, 'bob/written'), 'main')
      ).split('\t')
      let lives = 0
      for (let server = first; ; server = await serve()) {
        lives += 1
        // Every other life, over SSH.
        const remote =
          hasSsh && lives % 2 === 0
            ? await sshRemoteOf(server)
            : remoteOf(server.url, 'bob/pushed', 'bob', PASSWORD)
        await client.git('mine', 'remote', 'set-url', 'origin', remote)
        await expectAll(server, bob, commit, acknowledged)
        if (countOf(acknowledged) >= WRITES) {
          server.child.kill('SIGTERM')
          expect(await server.exited).toBe(0)
          break
        }
        await writeUntilKilled(server, bob, commit, acknowledged)
      }
      expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
      for (const shard of (await readdir(join(data, 'repositories'))).filter((name) =>
        /^[0-9a-f]{2}$/.test(name),
      )) {
        for (const folder of await readdir(join(data, 'repositories', shard))) {
          const path = join(data, 'repositories', shard, folder)
          execFileSync('git', ['-C', path, 'fsck', '--full', '--strict', '--no-dangling'])
        }
      }
    },
    TIMEOUT_MS,
  )

  async function writeUntilKilled(
    server: ServerProcess,
    bob: Actor,
    commit: string,
    acknowledged: Acknowledged,
  ) {
    const rest = restAt(server.url)
    const { branches, files, repositories, statuses } = acknowledged
    let isKilled = false
    const write = async (work: (name: string) => Promise<void>) => {
      // What fails has not been acknowledged.
      while (!isKilled) await work(uniqueName()).catch(() => {})
    }
    const send = async (path: string, body: object, name: string, accepted: Set<string>) => {
      const { status } = await rest(bob, 'POST', path, body)
      if (status === 201) accepted.add(name)
    }
    const writers = [
      write(async (name) => {
        const id = await client.commit('mine', name)
        const refs = [`HEAD:refs/heads/${name}`, `HEAD:refs/tags/${name}`, '+HEAD:refs/heads/main']
        await client.git('mine', 'push', '-q', '--atomic', 'origin', ...refs)
        branches.set(name, id)
      }),
      write((name) => {
        const body = { content: Buffer.from(name).toString('base64') }
        return send(`/repos/bob/written/contents/${name}.txt`, body, name, files)
      }),
      write((name) => send('/user/repos', { name, auto_init: true }, name, repositories)),
      write((name) =>
        send(
          `/repos/bob/written/statuses/${commit}`,
          { state: 'success', context: name },
          name,
          statuses,
        ),
      ),
    ]
    const enough = countOf(acknowledged) + WRITES_OF_A_LIFE
    while (countOf(acknowledged) < enough) await new Promise((resolve) => setTimeout(resolve, 1))
    await new Promise((resolve) => setTimeout(resolve, Math.random() * LONGEST_DELAY_MS))
    server.child.kill('SIGKILL')
    isKilled = true
    await server.exited
    await Promise.all(writers)
  }

  async function expectAll(
    server: ServerProcess,
    bob: Actor,
    commit: string,
    acknowledged: Acknowledged,
  ) {
    const rest = restAt(server.url)
    const listed = await client.git('.', 'ls-remote', remoteOf(server.url, 'bob/pushed'))
    const refs = new Map(
      listed.split('\n').map((line) => line.split('\t').reverse() as [string, string]),
    )
    for (const [name, id] of acknowledged.branches) {
      expect([name, refs.get(`refs/heads/${name}`), refs.get(`refs/tags/${name}`)]).toEqual([
        name,
        id,
        id,
      ])
    }
    const heads = [...refs.keys()].filter((ref) => ref.startsWith('refs/heads/'))
    const { body: pushed } = await rest(bob, 'GET', '/repos/bob/pushed')
    expect(pushed.branch_count).toBe(heads.length)

    const { body: folder } = await rest(bob, 'GET', '/repos/bob/written/contents')
    const found = new Set(folder.map(({ name }: { name: string }) => name.replace('.txt', '')))
    expect([...acknowledged.files].filter((name) => !found.has(name))).toEqual([])
    for (const name of acknowledged.repositories) {
      expect((await rest(bob, 'GET', `/repos/bob/${name}`)).body).toMatchObject({
        name,
        empty: false,
      })
    }
    const contexts = new Set<string>()
    for (let page = 1; ; page++) {
      const { body } = await rest(
        bob,
        'GET',
        `/repos/bob/written/commits/${commit}/statuses?page=${page}&limit=50`,
      )
      for (const { context } of body) contexts.add(context)
      if (body.length === 0) break
    }
    expect([...acknowledged.statuses].filter((name) => !contexts.has(name))).toEqual([])
  }

  let serial = 0
  function uniqueName(): string {
    serial += 1
    return `n${serial}`
  }
})
