import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isNewEnough } from '../../scripts/setup/set-up.mjs'

describe('the oldest Node', () => {
  it.each([
    { version: 'v18.20.4', enough: false },
    { version: 'v20.18.3', enough: false },
    { version: 'v20.19.0', enough: true },
    { version: 'v20.20.2', enough: true },
    // The minor number starts over.
    { version: 'v22.1.0', enough: true },
    { version: 'v9.99.0', enough: false },
  ])('$version is new enough: $enough', ({ version, enough }) => {
    expect(isNewEnough(version)).toBe(enough)
  })

  it('is the one that package.json declares', () => {
    const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    const declared = engines.node.replace('>=', 'v')
    expect(isNewEnough(declared)).toBe(true)
    expect(isNewEnough(declared.replace('.19', '.18'))).toBe(false)
  })
})
