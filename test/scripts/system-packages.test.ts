import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { aptCommand, planPackages, testPackages } from '../../scripts/setup/system-packages.mjs'
import { withFolder } from '../support/process.ts'

const required = [
  { name: 'make', command: 'make' },
  { name: 'libssl-dev', header: '/usr/include/openssl/ssl.h' },
]
const optional = [{ name: 'chromium', command: 'chromium' }]

describe('aptCommand', () => {
  it('is one line that can be pasted', () => {
    expect(aptCommand(['g++', 'make'])).toBe(
      'sudo apt-get update && sudo apt-get install -y --no-install-recommends g++ make',
    )
  })
})

describe('the plan for missing system packages', () => {
  it('is to install them as root on Debian', () => {
    const plan = planPackages({ required, optional, hasApt: true, isRoot: true })
    expect(plan).toEqual({ install: ['make', 'libssl-dev'], installOptional: ['chromium'] })
  })

  it('is to stop with one command for all of them as anyone else on Debian', () => {
    const plan = planPackages({ required, optional, hasApt: true, isRoot: false })
    expect(plan).toEqual({
      stop: expect.stringContaining(aptCommand(['make', 'libssl-dev', 'chromium'])),
    })
  })

  it('is to go on as anyone else on Debian when tests alone need them, with the command for them', () => {
    const plan = planPackages({ required: [], optional, hasApt: true, isRoot: false })
    expect(plan).toEqual({ install: [], installOptional: [], advice: aptCommand(['chromium']) })
  })

  it('is to stop with their names where there is no apt-get, leaving out headers, which lie elsewhere there', () => {
    const plan = planPackages({ required, optional, hasApt: false, isRoot: true })
    expect(plan).toEqual({ stop: expect.stringMatching(/^make missing/) })
  })

  it('is to go on without optional packages where there is no apt-get', () => {
    const plan = planPackages({ required: [], optional, hasApt: false, isRoot: false })
    expect(plan).toEqual({ install: [], installOptional: [] })
  })
})

describe('npm test as another user than root, on a Debian without the packages of tests', () => {
  it('prints the command and goes on', () =>
    withFolder(async (folder) => {
      // The path has what is needed to ask, and nothing else: not even the packages that this
      // machine has.
      for (const name of ['sh', 'cat']) symlinkSync(join('/bin', name), join(folder, name))
      writeFileSync(join(folder, 'apt-get'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
      const module = new URL('../../scripts/setup/system-packages.mjs', import.meta.url).href
      const script = `
        process.getuid = () => 1000
        const { ensureSystemPackages, testPackages } = await import('${module}')
        const optional = testPackages.filter(({ command }) => command !== undefined)
        console.log(await ensureSystemPackages({ required: [], optional }, console.log))`
      const { status, stdout } = spawnSync(
        process.execPath,
        ['--input-type=module', '-e', script],
        {
          encoding: 'utf8',
          env: { PATH: folder },
        },
      )
      const names = testPackages
        .filter(({ command }) => command !== undefined)
        .map(({ name }) => name)
      expect(status).toBe(0)
      expect(stdout).toContain(`  ${aptCommand(names)}\n`)
      expect(stdout).toContain(`not here: ${names.join(', ')}\n`)
    }))
})

describe('what tests are skipped without', () => {
  /** The programs that a test, or what it runs with, asks for by name before it decides to run. */
  const asked = /is(?:Installed|Here)\('([\w-]+)'\)/g

  it('is what npm test installs', () => {
    const folder = fileURLToPath(new URL('..', import.meta.url))
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    )
    const programs = files.flatMap((name) =>
      [...readFileSync(join(folder, name), 'utf8').matchAll(asked)].map(([, program]) => program),
    )
    expect(new Set(programs)).toEqual(
      new Set(['chromium', 'chromium-headless-shell', 'curl', 'gpg', 'ssh-keygen']),
    )
    expect(testPackages.map(({ command }) => command)).toEqual(
      expect.arrayContaining([...new Set(programs), 'bwrap']),
    )
  })
})
