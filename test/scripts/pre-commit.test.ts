import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { quickChecks } from '../../scripts/checks/quick-checks.mjs'
import { ROOT } from '../support/markdown.ts'
import { withFolder } from '../support/process.ts'
import { execFileSync } from '../support/programs.ts'

const namesOf = (files: string[]) => quickChecks(files).map(({ name }) => name)

describe('the check before a commit', () => {
  it.each([
    [['docs/tour.md'], []],
    [['src/app/main.ts', 'docs/tour.md'], ['formatter and linter']],
    [['package.json'], ['formatter and linter']],
    [['proto/branchline/v1/user.proto'], ['buf format', 'buf lint']],
  ])('of %j is %j', (files, names) => {
    expect(namesOf(files)).toEqual(names)
  })

  it('stops a commit of Git with a fault, and lets one without it pass', () =>
    withFolder(async (clone) => {
      const environment = {
        ...Object.fromEntries(
          Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')),
        ),
        ...{ GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' },
      }
      const git = (...args: string[]) => {
        const people = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org']
        const all = [...people, '-c', 'core.hooksPath=scripts/hooks', ...args]
        return spawnSync('git', all, { cwd: clone, env: environment, encoding: 'utf8' })
      }
      for (const name of ['scripts', 'biome.json', 'package.json'])
        cpSync(join(ROOT, name), join(clone, name), { recursive: true })
      symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'))
      execFileSync('git', ['init', '-q', clone], { env: environment })

      writeFileSync(join(clone, 'one.ts'), 'export const one: any = 1\n')
      git('add', 'one.ts')
      const refused = git('commit', '-m', 'A fault')
      expect(refused.status).toBe(1)
      expect(refused.stdout + refused.stderr).toContain('noExplicitAny')

      writeFileSync(join(clone, 'one.ts'), 'export const one = 1\n')
      git('add', 'one.ts')
      expect(git('commit', '-m', 'No fault').status).toBe(0)
    }))
})

it('the forms of issues and pull requests are the same for GitHub and Gitea', () => {
  for (const name of [
    'pull_request_template.md',
    'ISSUE_TEMPLATE/fault.md',
    'ISSUE_TEMPLATE/wish.md',
  ])
    expect(readFileSync(join(ROOT, '.gitea', name), 'utf8')).toBe(
      readFileSync(join(ROOT, '.github', name), 'utf8'),
    )
})
