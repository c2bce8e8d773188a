import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { judgeNode } from '../../src/app/node-version.mjs'

const refused = { refusal: expect.stringContaining('too old: install Node 20.19') }
const warnedOf = { warning: expect.stringContaining('is not tested') }
const tested = {}

describe('a version of Node', () => {
  it.each([
    ['v9.99.0', refused],
    ['v18.20.4', refused],
    ['v20.18.3', refused],
    ['v20.19.0', tested],
    ['v20.20.2', tested],
    ['v21.7.3', warnedOf],
    // The minor number starts over.
    ['v22.1.0', warnedOf],
    ['v22.13.1', warnedOf],
    ['v22.14.0', tested],
    ['v23.11.0', warnedOf],
    ['v24.0.0', tested],
    ['v25.1.0', warnedOf],
    ['v26.0.0-nightly20260101', warnedOf],
  ])('%s is judged', (version, judgement) => {
    expect(judgeNode(version)).toEqual(judgement)
  })

  it('that package.json declares as the oldest of its line is tested, and the one before it is not', () => {
    const { engines } = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    )
    const oldest = [...engines.node.matchAll(/(\d+)\.(\d+)/g)].map(([, major, minor]) => [
      Number(major),
      Number(minor),
    ])
    expect(oldest).toHaveLength(2)
    for (const [major = 0, minor = 0] of oldest) {
      expect(judgeNode(`v${major}.${minor}.0`)).toEqual({})
      expect(judgeNode(`v${major}.${minor - 1}.0`)).not.toEqual({})
    }
  })
})
