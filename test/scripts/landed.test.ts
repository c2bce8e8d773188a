import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkBreaking, land } from '../../scripts/checks/landed.mjs'

describe('an API that has landed', () => {
  let workspace: string
  const writeMessage = (...fields: string[]) =>
    writeFileSync(
      join(workspace, 'proto', 'user.proto'),
      `syntax = "proto3";\npackage example.v1;\nmessage User {\n${fields.join('\n')}\n}\n`,
    )

  beforeEach(() => {
    workspace = mkdtempSync(join(tmpdir(), 'branchline-landed-'))
    mkdirSync(join(workspace, 'proto'))
    writeFileSync(join(workspace, 'buf.yaml'), 'version: v2\nmodules:\n  - path: proto\n')
    writeMessage('string name = 1;', 'string email = 2;')
  })

  afterEach(() => rmSync(workspace, { recursive: true }))

  it('may gain a field', async () => {
    await land(workspace)
    writeMessage('string name = 1;', 'string email = 2;', 'string city = 3;')
    expect(await checkBreaking(workspace)).toEqual({ code: 0, output: '' })
  })

  it('may not lose a field', async () => {
    await land(workspace)
    writeMessage('string name = 1;')
    const result = await checkBreaking(workspace)
    expect(result).toMatchObject({ output: expect.stringContaining('field "2" with name "email"') })
    expect(result).not.toMatchObject({ code: 0 })
  })

  it('is not looked for before anything has landed', async () => {
    expect(await checkBreaking(workspace)).toEqual({ skipped: 'nothing has landed yet' })
  })
})
