import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isOnPostgres } from '../support/database.ts'
import { openForge } from '../support/forge.ts'

const { server } = await openForge()
const root = new URL('../..', import.meta.url).pathname

describe.skipIf(isOnPostgres)('the baseline of REST (which reads a file of SQLite)', () => {
  let folder: string
  let child: ChildProcess
  let baseline = ''

  beforeAll(async () => {
    // In the clone, so that the bundle finds the packages.
    folder = await mkdtemp(join(root, 'dist', 'bench-'))
    const program = join(folder, 'baseline.mjs')
    await build({
      absWorkingDir: root,
      entryPoints: ['bench/baseline.ts'],
      outfile: program,
      bundle: true,
      platform: 'node',
      format: 'esm',
      packages: 'external',
    })
    const database = join(server.data, 'branchline.db')
    child = spawn(process.execPath, [program, 'http', database, server.url])
    if (!child.stdout) throw new Error('the baseline has no output')
    const [line] = await once(createInterface(child.stdout), 'line')
    baseline = String(line).replace('listening on ', '')
  })
  afterAll(async () => {
    child?.kill()
    await rm(folder, { recursive: true })
  })

  const bodyOf = async (url: string, init?: RequestInit) => (await fetch(url, init)).text()

  it('answers GetUser as the server does', async () => {
    const path = '/api/v1/users/bob'
    expect(await bodyOf(baseline + path)).toBe(await bodyOf(server.url + path))
  })

  it('answers BatchGetUsers as the server does', async () => {
    // The baseline has one statement, for as many names as the bench asks for.
    const unknown = Array.from({ length: 97 }, (_, i) => `nobody-${i}`)
    const body = JSON.stringify({ usernames: ['bob', 'carol', 'dan', ...unknown] })
    const call = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    const path = '/api/v1/users:batchGet'
    const read = JSON.parse(await bodyOf(baseline + path, call))
    expect(read).toEqual(JSON.parse(await bodyOf(server.url + path, call)))
  })
})
