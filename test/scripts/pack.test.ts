import { readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { pack } from '../../scripts/pack/pack.mjs'
import { openGitClient } from '../support/git-client.ts'
import { serveProcess, withFolder } from '../support/process.ts'
import { execFile } from '../support/programs.ts'

const MIB = 1024 ** 2
const PASSWORD = 'correct horse battery'

async function postJson(url: string, body: object, authorization?: string): Promise<number> {
  const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) }
  return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status
}

it('the tarball runs without the checkout: accounts, repositories, pushes and web pages', async () => {
  await withFolder(async (folder) => {
    const { path, bytes } = await pack(folder)
    expect(bytes).toBeLessThan(60 * MIB)
    await execFile('tar', ['-xzf', path, '-C', folder])
    const [, version = ''] = /^branchline-([0-9.]+)-/.exec(basename(path)) ?? []
    const root = join(folder, `branchline-${version}`)

    const program = join(root, 'bin', 'branchline')
    const env = { PATH: process.env.PATH ?? '', HOME: folder }
    const { stdout } = await execFile(program, ['version'], { env })
    expect(stdout).toBe(`branchline ${version} (Node ${process.versions.node})\n`)

    const server = await serveProcess(join(folder, 'data'), [], {}, program)
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

      const shown = await fetch(`${server.url}/bob/engine`, { headers: { accept: 'text/html' } })
      const [, script = ''] = /src="([^"]+)"/.exec(await shown.text()) ?? []
      expect((await fetch(server.url + script)).status).toBe(200)
    } finally {
      await bob.remove()
      server.child.kill('SIGTERM')
      expect(await server.exited).toBe(0)
    }
  })
})

it('the tarball names its platform, and refuses a Node that cannot load its addons', async () => {
  await withFolder(async (folder) => {
    const { path } = await pack(folder)
    const [major] = process.versions.node.split('.')
    expect(basename(path)).toMatch(new RegExp(`-${process.platform}-${process.arch}-`))
    expect(basename(path)).toMatch(new RegExp(`-node${major}\\.tar\\.gz$`))
    await execFile('tar', ['-xzf', path, '-C', folder, '--strip-components=1'])
    const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    expect(manifest.engines).toEqual({ node: `${major}.x` })

    const versions = "{ ...process.versions, modules: '1', node: '99.0.0' }"
    const preload = `Object.defineProperty(process, 'versions', { value: ${versions} })`
    const args = ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]
    const started = execFile(process.execPath, [
      ...args,
      join(folder, 'bin', 'branchline'),
      'version',
    ])
    await expect(started).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        new RegExp(
          `^branchline: this installation is for Node ${major}, .* Node 99\\.0\\.0: .*\\n$`,
        ),
      ),
    })
  })
})

it('the tarball has the licences of the libraries that nodegit contains', async () => {
  await withFolder(async (folder) => {
    const { path } = await pack(folder)
    await execFile('tar', ['-xzf', path, '-C', folder, '--strip-components=1'])
    const text = await readFile(join(folder, 'LICENSES-OF-PACKAGES.txt'), 'utf8')
    for (const name of ['libgit2', 'PCRE', 'zlib', 'libssh2', 'http_parser'])
      expect(text).toContain(`\n${name} (compiled into nodegit)\n\n`)
    expect(text).toContain('Redistributions in binary form must reproduce the above')
    expect(text).toContain('LINKING EXCEPTION')
  })
})

it('the same checkout gives the same bytes, without sources and source maps', async () => {
  await withFolder(async (folder) => {
    const { path } = await pack(folder)
    const first = await readFile(path)
    expect((await stat((await pack(folder)).path)).size).toBe(first.length)
    expect((await readFile(path)).equals(first)).toBe(true)
    const { stdout } = await execFile('tar', ['-tzf', path])
    expect(stdout).not.toMatch(/\.(?:cc|h|map|gyp|ts)$/m)
    expect(stdout).toMatch(/\/node_modules\/nodegit\/build\/Release\/nodegit\.node$/m)
    expect(stdout).toMatch(/\/LICENSES-OF-PACKAGES\.txt$/m)
  })
})
