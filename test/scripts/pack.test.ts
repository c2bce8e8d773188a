import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { pack } from '../../scripts/pack/pack.mjs'
import { openGitClient } from '../support/git-client.ts'
import { serveProcess, withFolder } from '../support/process.ts'

const run = promisify(execFile)

const MIB = 1024 ** 2
const PASSWORD = 'correct horse battery'

async function postJson(url: string, body: object, authorization?: string): Promise<number> {
  const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) }
  return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status
}

it('the tarball runs without the checkout: accounts, repositories and pushes', async () => {
  await withFolder(async (folder) => {
    const { path, bytes } = await pack(folder)
    expect(bytes).toBeLessThan(60 * MIB)
    await run('tar', ['-xzf', path, '-C', folder])
    const [, version = ''] = /^branchline-([0-9.]+)-/.exec(basename(path)) ?? []
    const root = join(folder, `branchline-${version}`)

    const env = { PATH: process.env.PATH ?? '', HOME: folder }
    const { stdout } = await run(join(root, 'bin', 'branchline'), ['version'], { env })
    expect(stdout).toBe(`branchline ${version} (Node ${process.versions.node})\n`)

    const server = await serveProcess(join(folder, 'data'), [], {}, join(root, 'dist', 'main.js'))
    const bob = await openGitClient()
    try {
      const account = { username: 'bob', password: PASSWORD, email: 'bob@example.org' }
      expect(await postJson(`${server.url}/api/v1/users`, account)).toBe(200)
      const basic = `Basic ${Buffer.from(`bob:${PASSWORD}`).toString('base64')}`
      const repository = { name: 'engine', auto_init: true }
      expect(await postJson(`${server.url}/api/v1/user/repos`, repository, basic)).toBe(201)

      const remote = `${server.url}/bob/engine.git`.replace(
        '//',
        `//bob:${encodeURIComponent(PASSWORD)}@`,
      )
      await bob.git('.', 'clone', '-q', remote, 'engine')
      const id = await bob.commit('engine', 'work')
      await bob.git('engine', 'push', '-q')
      const branch = await fetch(`${server.url}/api/v1/repos/bob/engine/branches/main`)
      expect(await branch.json()).toMatchObject({ commit: { id } })
    } finally {
      await bob.remove()
      server.child.kill('SIGTERM')
      expect(await server.exited).toBe(0)
    }
  })
})

it('the same checkout gives the same bytes, without sources and source maps', async () => {
  await withFolder(async (folder) => {
    const { path } = await pack(folder)
    const first = await readFile(path)
    expect((await stat((await pack(folder)).path)).size).toBe(first.length)
    expect((await readFile(path)).equals(first)).toBe(true)
    const { stdout } = await run('tar', ['-tzf', path])
    expect(stdout).not.toMatch(/\.(?:cc|h|map|gyp|ts)$/m)
    expect(stdout).toMatch(/\/node_modules\/nodegit\/build\/Release\/nodegit\.node$/m)
    expect(stdout).toMatch(/\/LICENSES-OF-PACKAGES\.txt$/m)
  })
})
