import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createAccounts } from '../../scripts/clients/server.mjs'
import { DevServer } from '../../scripts/dev/dev-server.mjs'
import { PEOPLE, seedOnce, signIns } from '../../scripts/dev/seed.mjs'
import { watchFolders } from '../../scripts/dev/watch.mjs'
import { withFolder } from '../support/process.ts'
import { startTestServer } from '../support/server.ts'

describe('the instance of npm run dev', () => {
  it('has people who can sign in, and pull requests in each state', async () => {
    const server = await startTestServer()
    try {
      expect(await seedOnce(server.url)).toBe('made')
      expect(await seedOnce(server.url)).toBe('in place')
      const response = await fetch(`${server.url}/api/v1/repos/acme/garden/pulls?state=all`)
      const pulls: { state: string; draft: boolean; merged: boolean; mergeable: boolean }[] =
        JSON.parse(await response.text())
      const states = pulls.map(({ state, draft, merged, mergeable }) => {
        if (state === 'closed') return merged ? 'merged' : 'closed'
        return draft ? 'draft' : mergeable ? 'open' : 'in conflict'
      })
      expect(new Set(states)).toEqual(new Set(['open', 'draft', 'in conflict', 'merged', 'closed']))

      const text = signIns(server.url)
      const [, password = ''] = /password: (.+)$/m.exec(text) ?? []
      for (const username of ['ada', 'bob', 'carol']) {
        expect(text).toContain(username)
        const signedIn = await fetch(`${server.url}/api/v1/auth/signin`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ passwordCredentials: { username, password } }),
        })
        expect(signedIn.status).toBe(200)
      }
    } finally {
      await server.stop()
    }
  })
})

it('npm run dev adds nothing to an instance that has other data', async () => {
  const server = await startTestServer()
  try {
    await createAccounts(server.url, PEOPLE.slice(0, 1), 'test')
    await expect(seedOnce(server.url)).rejects.toThrow('remove its data folder')
  } finally {
    await server.stop()
  }
})

describe('the server of npm run dev', () => {
  it('starts again on the same data, although a page holds a stream open', () =>
    withFolder(async (folder) => {
      const server = new DevServer([
        ...['--listen', '127.0.0.1:0', '--data', folder, '--log-level', 'error'],
      ])
      try {
        const first = await server.start()
        const { ada = '' } = await createAccounts(first, PEOPLE.slice(0, 1), 'test')
        const headers = { authorization: `token ${ada}` }
        const stream = await fetch(`${first}/api/v1/events:watch`, { headers })
        expect(stream.status).toBe(200)
        await server.stop()
        await expect(fetch(first)).rejects.toThrow('fetch failed')
        await stream.body?.cancel().catch(() => undefined)
        const second = await server.start()
        expect((await fetch(`${second}/api/v1/user`, { headers })).status).toBe(200)
      } finally {
        await server.stop()
      }
    }))

  it('says that it did not start', async () => {
    const server = new DevServer(['--no-such-flag'])
    await expect(server.start()).rejects.toThrow('ended before it was ready')
    await server.stop()
  })
})

describe('the watch over the sources', () => {
  it('sees a change in a folder, a file replaced by a rename, and a new folder', () =>
    withFolder(async (folder) => {
      await mkdir(join(folder, 'one'))
      let calls = 0
      const endWatch = watchFolders([folder], async () => {
        calls++
      })
      const change = async (work: () => Promise<unknown>) => {
        const before = calls
        await work()
        await expect.poll(() => calls).toBeGreaterThan(before)
      }
      try {
        await change(() => writeFile(join(folder, 'one', 'file.ts'), '1'))
        await writeFile(join(folder, 'one', 'draft'), '2')
        await change(() => rename(join(folder, 'one', 'draft'), join(folder, 'one', 'file.ts')))
        await change(() => mkdir(join(folder, 'two')))
        await change(() => writeFile(join(folder, 'two', 'file.ts'), '1'))
        await change(() => rm(join(folder, 'two'), { recursive: true }))
      } finally {
        endWatch()
      }
    }))

  it('works once more for changes that come during the work, and never twice at a time', () =>
    withFolder(async (folder) => {
      let running = 0
      let most = 0
      let calls = 0
      let open = () => {}
      const gate = new Promise<void>((resolve) => {
        open = resolve
      })
      const endWatch = watchFolders([folder], async () => {
        calls++
        running++
        most = Math.max(most, running)
        if (calls === 1) {
          await writeFile(join(folder, 'second.ts'), '1')
          await gate
        }
        running--
      })
      try {
        await writeFile(join(folder, 'first.ts'), '1')
        await expect.poll(() => calls).toBe(1)
        open()
        await expect.poll(() => calls).toBeGreaterThan(1)
        expect(most).toBe(1)
      } finally {
        endWatch()
      }
    }))
})
