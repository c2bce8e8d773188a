import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { copyClone, copyFolder, OTHER_NODES } from '../../scripts/setup/other-node.mjs'
import { judgeNode } from '../../src/app/node-version.mjs'
import { withFolder } from '../support/process.ts'

const SCRIPT = join(import.meta.dirname, '../../scripts/test-node.mjs')

const runScript = (args: readonly string[], env: Record<string, string> = {}) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  return { status, stdout, stderr }
}

describe('the tests on another Node', () => {
  it.each([[[]], [['18']], [['24.19.0']], [['__proto__']]])(
    'ask for a version that they know, given %j',
    (args) => {
      const { status, stderr } = runScript(args)
      expect(status).toBe(1)
      expect(stderr).toBe(
        'FAIL Say on which Node to test, 22 or 24, such as `npm run test:node -- 22`.\n',
      )
    },
  )

  it('say that Python is missing', () =>
    withFolder(async (folder) => {
      const programs = join(folder, 'bin')
      mkdirSync(programs)
      for (const name of ['sh', 'cat']) symlinkSync(join('/bin', name), join(programs, name))
      const { status, stderr } = runScript(['24'], { XDG_CACHE_HOME: folder, PATH: programs })
      expect(status).toBe(1)
      expect(stderr).toMatch(
        /FAIL .* comes by pip, .*: install python3 and python3-pip, then try again\.\n$/,
      )
      expect(existsSync(join(folder, 'branchline', 'nodes'))).toBe(false)
    }))

  it('run on versions that the server takes for tested', () => {
    for (const version of Object.values(OTHER_NODES)) expect(judgeNode(`v${version}`)).toEqual({})
  })
})

describe('a copy of a clone', () => {
  const write = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }

  it('has what the clone has now, and what the copy’s own set-up installed', () =>
    withFolder(async (folder) => {
      const [clone, copy] = [join(folder, 'clone'), join(folder, 'copy')]
      write(join(clone, 'src', 'a.ts'), 'old')
      write(join(clone, 'src', 'gone.ts'), '')
      write(join(clone, '.git', 'HEAD'), '')
      write(join(clone, 'node_modules', 'addon.node'), 'of the clone')
      copyClone(copy, clone)
      expect(existsSync(join(copy, 'src', 'gone.ts'))).toBe(true)
      write(join(copy, 'node_modules', 'addon.node'), 'of the copy')

      writeFileSync(join(clone, 'src', 'a.ts'), 'new')
      mkdirSync(join(clone, 'docs'))
      rmSync(join(clone, 'src', 'gone.ts'))
      copyClone(copy, clone)
      expect(readFileSync(join(copy, 'src', 'a.ts'), 'utf8')).toBe('new')
      expect(existsSync(join(copy, 'docs'))).toBe(true)
      expect(existsSync(join(copy, 'src', 'gone.ts'))).toBe(false)
      expect(existsSync(join(copy, '.git'))).toBe(false)
      expect(readFileSync(join(copy, 'node_modules', 'addon.node'), 'utf8')).toBe('of the copy')
    }))

  it('has a folder of its own for each clone and each version', () => {
    const folders = ['/a', '/b'].flatMap((clone) =>
      ['22.20.0', '24.19.0'].map((version) => copyFolder(version, clone)),
    )
    expect(new Set(folders).size).toBe(4)
  })
})
