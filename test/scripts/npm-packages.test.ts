import { describe, expect, it } from 'vitest'
import { fingerprint, planInstallation } from '../../scripts/setup/npm-packages.mjs'

const lockOf = (version: string, packages: object) =>
  JSON.stringify({ version, lockfileVersion: 3, packages: { '': { version }, ...packages } })

describe('the fingerprint of installed packages', () => {
  const manifest = {
    scripts: { test: 'a' },
    dependencies: { pino: '1.0.0' },
    overrides: { nan: '2.0.0' },
  }
  const sources = {
    lock: lockOf('0.1.0', { 'node_modules/pino': { version: '1.0.0' } }),
    manifest: JSON.stringify(manifest),
    nodeVersion: 'v20.20.2',
    platform: 'linux-x64',
  }
  const withManifest = (change: object) => ({
    ...sources,
    manifest: JSON.stringify({ ...manifest, ...change }),
  })

  it.each([
    ['the lock file', { ...sources, lock: lockOf('0.1.0', {}) }],
    ['a dependency', withManifest({ dependencies: { pino: '1.0.1' } })],
    ['a development dependency', withManifest({ devDependencies: { vitest: '4.0.0' } })],
    ['an override', withManifest({ overrides: { nan: '2.0.1' } })],
    // Its binary packages are chosen by platform, and addons fit one ABI.
    ['Node', { ...sources, nodeVersion: 'v22.1.0' }],
    ['the platform', { ...sources, platform: 'linux-arm64' }],
  ])('changes with %s', (_, changed) => {
    expect(fingerprint(changed)).not.toBe(fingerprint(sources))
  })

  it.each([
    ['scripts', withManifest({ scripts: { test: 'b' } })],
    ['the description', withManifest({ description: 'A forge' })],
    [
      'the version of the project',
      { ...sources, lock: lockOf('0.2.0', { 'node_modules/pino': { version: '1.0.0' } }) },
    ],
  ])('does not change with %s', (_, changed) => {
    expect(fingerprint(changed)).toBe(fingerprint(sources))
  })
})

describe('the installation of packages', () => {
  it.each([
    [undefined, 'production', 'anew'],
    [undefined, 'all', 'anew'],
    ['old all', 'production', 'anew'],
    ['new production', 'production', 'nothing'],
    // A server that runs from the clone keeps its packages.
    ['new production', 'all', 'more'],
    ['new all', 'production', 'nothing'],
    ['new all', 'all', 'nothing'],
    // Stamps of earlier versions have no set.
    ['new', 'production', 'more'],
  ] as const)('with the stamp %s and the wish for %s is %s', (stamp, wanted, plan) => {
    expect(planInstallation(stamp, 'new', wanted)).toBe(plan)
  })
})
