import { describe, expect, it } from 'vitest'
import { checkRepositoryName } from '../../../../src/forge/repositories/lifecycle/repository-fields.ts'
import { registerServices } from '../../../../src/forge/service-registry.ts'
import { createRpc } from '../../../../src/platform/rpc/index.ts'
import { testApp } from '../../../support/app.ts'

describe('a repository name', () => {
  it.each(['a', 'A-b_c.d', '.github', '_', '0', 'x'.repeat(100), 'a..b', 'git', 'wiki.x', 'a.rss'])(
    'can be %j',
    (name) => {
      expect(checkRepositoryName(name)).toBe(name)
    },
  )

  it.each([
    '',
    'x'.repeat(101),
    // A path to the parent folder.
    '.',
    '..',
    '...',
    '../a',
    'a/b',
    'a\\b',
    '%2e%2e',
    // Ends a segment, or has a special meaning in some clients.
    'a b',
    'a\n',
    'a\0',
    'a?b',
    'a#b',
    'a:b',
    'é',
    'a.git',
    'a.GIT',
    'a.wiki',
    'a.atom',
    'a.lock',
    '.git',
    '-',
  ])('cannot be %j', (name) => {
    expect(() => checkRepositoryName(name)).toThrow('INVALID_REPOSITORY_NAME')
  })

  it('cannot be confused with a fixed segment of a route', async () => {
    const rpc = createRpc()
    registerServices(rpc.router, await testApp())
    // No owner has the name `file` or `issues`.
    const paths = rpc
      .routes()
      .map(({ binding }) => binding.template.text)
      .filter((path) => !/^\/(?:file|api\/v1\/repos\/issues)\//.test(path))
    const named = paths.flatMap(
      (path) => /^(?:\/api\/v1(?:\/teams\/[^/]+)?\/repos)?\/[^/]+\/([^/]+)/.exec(path)?.[1] ?? [],
    )
    expect(named).toContain('{repo}')
    const words = named.filter((segment) => !segment.startsWith('{') && segment !== 'v1')
    expect(words.filter((word) => !isRefused(word))).toEqual([])
  })
})

function isRefused(name: string): boolean {
  try {
    checkRepositoryName(name)
    return false
  } catch {
    return true
  }
}
