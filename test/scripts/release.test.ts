import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { imageContext, writeSchema } from '../../scripts/release/artefacts.mjs'
import {
  checkVersion,
  notesOf,
  releasedChangelog,
  withVersion,
} from '../../scripts/release/plan.mjs'
import { ROOT, readPage } from '../support/markdown.ts'
import { withFolder } from '../support/process.ts'
import { execFileSync } from '../support/programs.ts'

const CHANGELOG = `# Changelog

## [Unreleased]

### Added

- Issues.

## [0.1.0] - 2026-01-01

- Everything.
`

describe('the version of a release', () => {
  it.each(['0.1.1', '0.2.0', '0.10.0', '1.0.0'])('%s follows 0.1.0', (next) => {
    expect(() => checkVersion('0.1.0', next, CHANGELOG)).not.toThrow()
  })

  it('may be the present one while that is not released', () => {
    const changelog = CHANGELOG.replace('[0.1.0]', '[0.0.9]')
    expect(() => checkVersion('0.1.0', '0.1.0', changelog)).not.toThrow()
  })

  it.each(['0.1.0', '0.0.9', '', '1', '1.2', '01.2.3', 'v1.2.3', '1.2.3-beta', '--force'])(
    '%j is refused after 0.1.0',
    (next) => {
      expect(() => checkVersion('0.1.0', next, CHANGELOG)).toThrow(/is no version|does not follow/)
    },
  )
})

describe('the notes of a release', () => {
  it('are the entries that are not released', () => {
    expect(notesOf(CHANGELOG)).toBe('### Added\n\n- Issues.\n')
    expect(notesOf(readPage('CHANGELOG.md'))).toContain('### Fixed')
  })

  it('are under the version afterwards, and cannot be released twice', () => {
    const released = releasedChangelog(CHANGELOG, '0.2.0', '2026-05-01')
    expect(released).toContain('## [Unreleased]\n\n## [0.2.0] - 2026-05-01\n\n### Added\n')
    expect(() => notesOf(released)).toThrow('no entry')
  })
})

it.each(['package.json', 'package-lock.json'])('%s gets the version and nothing else', (name) => {
  const before = JSON.parse(readPage(name))
  const after = JSON.parse(withVersion(readPage(name), '9.8.7'))
  expect(after.version).toBe('9.8.7')
  after.version = before.version
  if (after.packages) {
    expect(after.packages[''].version).toBe('9.8.7')
    after.packages[''].version = before.packages[''].version
  }
  expect(after).toEqual(before)
})

describe('npm run release', () => {
  /** Runs the script in a clone with the files that it reads before the set-up. */
  async function inClone(
    work: (run: (...args: string[]) => ReturnType<typeof spawnSync>, clone: string) => void,
  ): Promise<void> {
    await withFolder(async (clone) => {
      // The scripts import modules of the sources that are JavaScript.
      const filter = (path: string) => !/\.(?:tsx?|css|svg)$/.test(path)
      for (const name of ['scripts', 'src', 'package.json', 'package-lock.json'])
        cpSync(join(ROOT, name), join(clone, name), { recursive: true, filter })
      writeFileSync(join(clone, 'CHANGELOG.md'), CHANGELOG)
      const env = { PATH: process.env.PATH, HOME: clone }
      const people = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org']
      execFileSync('git', ['init', '-q'], { cwd: clone, env })
      execFileSync('git', ['add', '.'], { cwd: clone, env })
      execFileSync('git', [...people, 'commit', '-q', '-m', 'All'], { cwd: clone, env })
      const run = (...args: string[]) =>
        spawnSync(process.execPath, ['scripts/release.mjs', ...args], {
          cwd: clone,
          env,
          encoding: 'utf8',
        })
      work(run, clone)
    })
  }

  it('says in a dry run what it would write, and writes nothing', () =>
    inClone((run, clone) => {
      const { status, stdout } = run('99.0.0', '--dry-run')
      expect(status).toBe(0)
      expect(stdout).toContain('Would write version 99.0.0')
      expect(stdout).toContain('- Issues.')
      const changes = execFileSync('git', ['status', '--porcelain', '--ignored'], { cwd: clone })
      expect(changes.toString()).toBe('')
    }))

  it('stops at a clone with changes, and at a wrong version', () =>
    inClone((run, clone) => {
      expect(run('nonsense', '--dry-run')).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('is no version'),
      })
      writeFileSync(join(clone, 'new.ts'), '')
      expect(run('99.0.0')).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('new.ts'),
      })
      expect(readFileSync(join(clone, 'CHANGELOG.md'), 'utf8')).toBe(CHANGELOG)
    }))
})

describe('what a release publishes', () => {
  const listOf = (file: string) => execFileSync('tar', ['-tzf', file]).toString()

  it('has the schema of the server', () =>
    withFolder(async (folder) => {
      const names = await writeSchema(folder, '9.8.7')
      expect(names).toBe('branchline-proto-9.8.7.tar.gz, branchline-9.8.7.binpb')
      expect(listOf(join(folder, 'branchline-proto-9.8.7.tar.gz'))).toContain(
        'branchline/v1/user.proto\n',
      )
    }))

  it('has the context of the image, without data and secrets', () =>
    withFolder(async (folder) => {
      const file = join(folder, 'context.tar.gz')
      writeFileSync(file, await imageContext())
      const list = listOf(file)
      for (const name of [
        'deploy/Dockerfile',
        'deploy/healthcheck.mjs',
        'src/app/main.ts',
        'LICENSE',
      ])
        expect(list).toContain(`./${name}\n`)
      expect(list).not.toMatch(/^\.\/(?:data|dist|node_modules|test|deploy\/secrets)/m)
    }))
})
