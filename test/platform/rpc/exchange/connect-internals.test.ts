import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import * as internals from '../../../../src/platform/rpc/exchange/connect-internals.ts'

describe('the private exports of Connect', () => {
  it('are there and take as many arguments as they are given', () => {
    const arities = Object.entries(internals).map(([name, value]) => [name, value.length])
    expect(Object.fromEntries(arities)).toEqual({
      codeToHttpStatus: 1,
      createMethodImplSpec: 2,
      createServiceImplSpec: 2,
      getAbortSignalReason: 1,
      pipe: 1,
      transformDecompressEnvelope: 2,
      transformInvokeImplementation: 3,
      transformJoinEnvelopes: 0,
      transformSplitEnvelope: 1,
      validateReadWriteMaxBytes: 3,
    })
  })

  it('belong to exact versions, because they change in minor releases', () => {
    const manifest = JSON.parse(
      readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'),
    )
    expect(manifest.dependencies['@connectrpc/connect']).toBe('2.1.2')
    expect(manifest.dependencies['@connectrpc/connect-node']).toBe('2.1.2')
  })
})
