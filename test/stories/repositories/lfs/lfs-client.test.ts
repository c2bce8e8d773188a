import { randomBytes } from 'node:crypto'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Forge, startForge } from '../../../support/forge.ts'
import { remoteOf } from '../../../support/git-client.ts'
import { hasGitLfs } from '../../../support/lfs.ts'
import { runProgram, textOf } from '../../../support/programs.ts'
import { PASSWORD } from '../../../support/server.ts'

// Only a file whose tests run stops its servers after them.
let forge: Forge
const git: Forge['client']['git'] = (...args) => forge.client.git(...args)

/** The test of the client's project for servers, which Go compiles from `t/git-lfs-test-server-api`. */
const SERVER_TEST = 'git-lfs-test-server-api'
const hasServerTest = await runProgram(SERVER_TEST, ['--help']).then(({ status }) => status === 0)

/** Clones a repository of bob with the settings of Git LFS. */
async function clone(name: string, folder: string): Promise<void> {
  await git('.', 'clone', '-q', remoteOf(forge.server.url, `bob/${name}`, 'bob', PASSWORD), folder)
  await git(folder, 'lfs', 'install', '--local')
}

describe.skipIf(!hasGitLfs)(
  'the client of Git LFS (skipped where git-lfs is not installed)',
  () => {
    beforeAll(async () => {
      forge = await startForge()
      await git('.', 'config', '--global', 'filter.lfs.process', 'git-lfs filter-process')
      await git('.', 'config', '--global', 'filter.lfs.smudge', 'git-lfs smudge -- %f')
      await git('.', 'config', '--global', 'filter.lfs.clean', 'git-lfs clean -- %f')
    })

    afterAll(() => forge.stop())

    it('pushes and clones files of each size', async () => {
      const { ask, client, users } = forge
      const { home } = client
      await ask(users.bob, 'POST', '/user/repos', { name: 'films', private: true })
      await clone('films', 'films')
      await git('films', 'lfs', 'track', '*.film')
      const films = {
        empty: Buffer.alloc(0),
        byte: Buffer.from('x'),
        long: randomBytes(8 * 1024 ** 2),
      }
      for (const [name, content] of Object.entries(films))
        await writeFile(join(home, 'films', `${name}.film`), content)
      await git('films', 'add', '.')
      await client.commit('films', 'Films')
      await git('films', 'push', '-q', 'origin', 'HEAD')
      await clone('films', 'again')
      for (const [name, content] of Object.entries(films))
        expect((await readFile(join(home, 'again', `${name}.film`))).equals(content)).toBe(true)
      expect(await git('again', 'lfs', 'fsck')).toContain('Git LFS fsck OK')
    })

    it('continues a download that was interrupted', async () => {
      const { home } = forge.client
      const id =
        (await git('films', 'lfs', 'ls-files', '-l', '-I', 'long.film')).split(' ')[0] ?? ''
      const store = join(home, 'again', '.git', 'lfs')
      const object = join(store, 'objects', id.slice(0, 2), id.slice(2, 4), id)
      const content = await readFile(object)
      await rm(object)
      await writeFile(join(store, 'incomplete', `${id}.part`), content.subarray(0, 3_000_000))
      await git('again', 'lfs', 'fetch')
      expect((await stat(object)).size).toBe(content.length)
      expect(await git('again', 'lfs', 'fsck')).toContain('Git LFS fsck OK')
    })

    it.skipIf(!hasServerTest)(
      'passes its test of servers (skipped where the test is missing)',
      async () => {
        const { ask, client, server, users } = forge
        await ask(users.bob, 'POST', '/user/repos', { name: 'tested' })
        const address = remoteOf(server.url, 'bob/tested', 'bob', PASSWORD)
        const env = { ...process.env, HOME: client.home, GIT_TERMINAL_PROMPT: '0' }
        const { stdout } = await runProgram(SERVER_TEST, [`--url=${address}/info/lfs`], { env })
        expect(textOf(stdout)).toContain('All tests passed')
      },
    )
  },
)
