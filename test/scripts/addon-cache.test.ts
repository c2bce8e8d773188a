import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { abiOf, addonKey, cacheFolder, publish, restore } from '../../scripts/setup/addon-cache.mjs'

describe('addonKey', () => {
  const parts = {
    name: 'nodegit',
    version: '0.28.0',
    abi: '115',
    platform: 'linux',
    arch: 'x64',
    libc: 'glibc',
  }

  it('names the package, its version and the platform', () => {
    expect(addonKey(parts)).toBe('nodegit-0.28.0-abi115-linux-x64-glibc')
  })

  it.each([
    { version: '0.28.1' },
    { abi: '127' },
    { platform: 'darwin' },
    { arch: 'arm64' },
    { libc: 'musl' },
  ])('is another one for $version$abi$platform$arch$libc', (change) => {
    expect(addonKey({ ...parts, ...change })).not.toBe(addonKey(parts))
  })
})

describe('abiOf', () => {
  it('is the ABI that a compiled addon registers for', () => {
    expect(abiOf(Buffer.from('\0node_register_module_v115\0'))).toBe('115')
    expect(abiOf(Buffer.from('\0napi_register_module_v1\0'))).toBeUndefined()
  })

  it('is that of this Node for the addon that the tests load', () => {
    const file = new URL('../../node_modules/nodegit/build/Release/nodegit.node', import.meta.url)
    expect(abiOf(readFileSync(file))).toBe(process.versions.modules)
  })
})

describe('cacheFolder', () => {
  it.each([
    { env: { HOME: '/home/alice' }, folder: '/home/alice/.cache/branchline/addons' },
    {
      env: { HOME: '/home/alice', XDG_CACHE_HOME: '/var/cache/alice' },
      folder: '/var/cache/alice/branchline/addons',
    },
    // Two rows that the XDG Base Directory Specification asks to be treated as unset.
    {
      env: { HOME: '/home/alice', XDG_CACHE_HOME: '' },
      folder: '/home/alice/.cache/branchline/addons',
    },
    {
      env: { HOME: '/home/alice', XDG_CACHE_HOME: 'cache' },
      folder: '/home/alice/.cache/branchline/addons',
    },
  ])('is $folder for $env', ({ env, folder }) => {
    expect(cacheFolder(env)).toBe(folder)
  })
})

describe('the cache of addons', () => {
  let folder: string
  let cache: string
  let built: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'branchline-cache-'))
    cache = join(folder, 'cache')
    built = join(folder, 'built.node')
    writeFileSync(built, 'machine code')
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  it('gives back what was put into it, into folders that do not exist yet', () => {
    const target = join(folder, 'package', 'build', 'addon.node')
    publish(cache, 'key', built, 'addon.node')
    expect(restore(cache, 'key', target, 'addon.node')).toBe(true)
    expect(readFileSync(target, 'utf8')).toBe('machine code')
  })

  it('has nothing under another key', () => {
    publish(cache, 'key', built, 'addon.node')
    expect(restore(cache, 'other', join(folder, 'addon.node'), 'addon.node')).toBe(false)
  })

  it('keeps what another process put there first, and leaves no drafts', () => {
    publish(cache, 'key', built, 'addon.node')
    writeFileSync(built, 'other machine code')
    publish(cache, 'key', built, 'addon.node')
    expect(readFileSync(join(cache, 'key', 'addon.node'), 'utf8')).toBe('machine code')
    expect(readdirSync(cache)).toEqual(['key'])
  })

  it('leaves neither an entry nor a draft when there is nothing to copy', () => {
    expect(() => publish(cache, 'key', join(folder, 'absent'), 'addon.node')).toThrow('ENOENT')
    expect(readdirSync(cache)).toEqual([])
  })
})
