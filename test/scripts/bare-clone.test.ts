import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from '../support/markdown.ts'
import { withFolder } from '../support/process.ts'

it('Buf says in a clone without packages what is missing', () =>
  withFolder(async (clone) => {
    for (const name of ['buf.yaml', 'proto'])
      cpSync(join(ROOT, name), join(clone, name), { recursive: true })
    const buf = join(ROOT, 'node_modules', '.bin', 'buf')
    const { status, stderr } = spawnSync(buf, ['build'], { cwd: clone, encoding: 'utf8' })
    expect(status).not.toBe(0)
    expect(stderr).toMatch(/is missing until you run npm install/)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  }))
