import { createConnectRouter } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { checkRepositoryName } from '../../../../src/domain/repos/access/names.ts'
import { registerServices } from '../../../../src/services/registry.ts'
import { createRest } from '../../../../src/transport/rpc/rest/index.ts'
import { testApp } from '../../../support/app.ts'

describe('a name for a repository', () => {
  it.each(['a', 'A-b_c.d', '.github', '_', '0', 'x'.repeat(100), 'a..b', 'git', 'wiki.x', 'a.rss'])(
    'can be %j',
    (name) => {
      expect(checkRepositoryName(name)).toBe(name)
    },
  )

  it.each([
    '',
    'x'.repeat(101),
    // Leads up the tree of folders and of URLs.
    '.',
    '..',
    '...',
    '../a',
    'a/b',
    'a\\b',
    '%2e%2e',
    // Ends a segment, or is read as something else by some client.
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
    'a.lock',
    '.git',
    '-',
  ])('cannot be %j', (name) => {
    expect(() => checkRepositoryName(name)).toThrow('INVALID_REPOSITORY_NAME')
  })

  it('stands nowhere where a route has a word of its own', async () => {
    const rest = createRest()
    registerServices(rest.record(createConnectRouter()), await testApp())
    const paths = rest.routes().map(({ binding }) => binding.template.text)
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
