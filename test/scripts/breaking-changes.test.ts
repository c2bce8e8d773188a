import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkBreaking } from '../../scripts/checks/breaking-changes.mjs'
import { execFileSync } from '../support/programs.ts'

describe('the check for breaking changes', () => {
  let workspace: string
  const writeMessage = (...fields: string[]) =>
    writeFileSync(
      join(workspace, 'proto', 'user.proto'),
      `syntax = "proto3";\npackage example.v1;\nmessage User {\n${fields.join('\n')}\n}\n`,
    )
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=u', '-c', 'user.email=u@example.com', ...args], {
      cwd: workspace,
      encoding: 'utf8',
    }).trim()
  const commit = (...fields: string[]) => {
    writeMessage(...fields)
    git('add', '.')
    git('commit', '--quiet', '--allow-empty', '--message=change')
    return git('rev-parse', 'HEAD')
  }
  // An empty base is none, whatever the environment of the tests says.
  const check = (base = '') => checkBreaking({ workspace, base })
  const name = 'string name = 1;'
  const email = 'string email = 2;'
  const withoutEmail = {
    code: 100,
    output: expect.stringContaining('field "2" with name "email"'),
  }

  beforeEach(() => {
    workspace = mkdtempSync(join(tmpdir(), 'branchline-breaking-'))
    mkdirSync(join(workspace, 'proto'))
    writeFileSync(join(workspace, 'buf.yaml'), 'version: v2\nmodules:\n  - path: proto\n')
    git('init', '--quiet', '--initial-branch=main')
  })

  afterEach(() => rmSync(workspace, { recursive: true }))

  it('permits a new field', async () => {
    commit(name)
    commit(name)
    writeMessage(name, email)
    expect(await check()).toEqual({ code: 0, output: '' })
  })

  it('names a missing field and the commit of the earlier API', async () => {
    const earlier = commit(name, email)
    commit(name)
    const result = await check()
    expect(result).toMatchObject(withoutEmail)
    expect(result).toMatchObject({ output: expect.stringContaining(earlier) })
  })

  it('compares a branch with its start', async () => {
    const start = commit(name, email)
    commit(name)
    commit(name)
    expect(await check()).toEqual({ code: 0, output: '' })
    git('update-ref', 'refs/remotes/origin/main', start)
    expect(await check()).toMatchObject(withoutEmail)
  })

  it('compares a clone of main with the commit before', async () => {
    commit(name, email)
    git('update-ref', 'refs/remotes/origin/main', commit(name))
    expect(await check()).toMatchObject(withoutEmail)
  })

  it('compares with the last release from then on', async () => {
    commit(name, email)
    git('tag', 'v1.0.0')
    commit(name)
    commit(name)
    expect(await check()).toMatchObject(withoutEmail)
  })

  it('compares with a named commit', async () => {
    const first = commit(name, email)
    commit(name)
    commit(name)
    expect(await check(first)).toMatchObject(withoutEmail)
    expect(await check('v9')).toMatchObject({ code: 1, output: expect.stringContaining('v9') })
  })

  it('is skipped without an earlier commit', async () => {
    const reason = { skipped: expect.stringContaining('no earlier commit') }
    expect(await check()).toEqual(reason)
    commit(name)
    expect(await check()).toEqual(reason)
  })

  it('is skipped outside of a Git checkout', async () => {
    const reason = { skipped: 'this folder is not a Git checkout' }
    rmSync(join(workspace, '.git'), { recursive: true })
    expect(await check()).toEqual(reason)
  })
})
