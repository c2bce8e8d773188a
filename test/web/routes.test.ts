import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readPageAddress } from '../../src/edge/web-shell/addresses.ts'
import { routeOf } from '../../src/web/routes.ts'

const at = (path: string) => routeOf(new URL(path, 'http://localhost'))

describe('the page of an address', () => {
  it.each([
    ['/bob/tools/settings', 'general-settings', []],
    ['/bob/tools/queue/release/1', 'merge-queue', ['release', '1']],
    ['/bob/tools/settings/hooks/7', 'repository-webhooks', ['7']],
    ['/bob/tools/settings/branches/new', 'branch-rules', ['new']],
    ['/bob/tools/settings/maintenance', 'maintenance', []],
    ['/-/admin/maintenance', 'administration-maintenance', []],
    ['/-/admin', 'administration', []],
    ['/-/admin/accounts/bob', 'administration-account', ['bob']],
    ['/constructor', 'account', []],
  ])('%s is %s', (path, name, rest) => {
    expect(at(path)).toMatchObject({ name, props: { rest } })
  })

  it('has the name of its file, which the server reads from the manifest of the bundle', () => {
    const source = readFileSync(new URL('../../src/web/pages.ts', import.meta.url), 'utf8')
    const pages = [
      ...source.matchAll(/^ {2}'?([a-z-]+)'?: async[^/]*\/[a-z]+\/([a-z-]+)\.page\.tsx/gm),
    ]
    expect(pages.length).toBe(source.match(/import\('/g)?.length)
    expect(pages.filter(([, name, file]) => name !== file)).toEqual([])
  })

  it('is served by the server, which knows the same pages', () => {
    const source = readFileSync(new URL('../../src/web/routes.ts', import.meta.url), 'utf8')
    const keysOf = (table: string) => {
      const [, text = ''] =
        new RegExp(`^const ${table}\\b[^{]*\\{\\n(.*?)^\\}`, 'ms').exec(source) ?? []
      return [...text.matchAll(/^ {2}(?:'([^']*)'|([a-z_]+)):/gm)].map(([, a, b]) => a ?? b ?? '')
    }
    const fixed = keysOf('FIXED').map((key) => `/${key}`)
    const ofRepository = keysOf('REPOSITORY_PAGES').map((key) => `/bob/tools/${key}`)
    expect(fixed).toEqual(expect.arrayContaining(['/', '/explore', '/user/settings/storage']))
    expect(ofRepository).toEqual(expect.arrayContaining(['/bob/tools/_edit', '/bob/tools/pulls']))
    const kindOf = (path: string) => readPageAddress(path)?.kind
    expect(fixed.filter((path) => !/^(fixed|home)$/.test(kindOf(path) ?? ''))).toEqual([])
    expect(ofRepository.filter((path) => kindOf(path) !== 'repository')).toEqual([])
  })

  it('names the organisation whose settings it has', () => {
    expect(at('/-/organizations/acme/teams/3')).toMatchObject({
      name: 'organization-teams',
      props: { owner: 'acme', rest: ['3'] },
    })
  })

  it.each([
    '/bob/tools/constructor',
    '/bob/tools/settings/constructor',
    '/-/unknown',
    '/-/organizations/acme/toString',
  ])('%s has none', (path) => {
    expect(at(path)).toBeUndefined()
  })
})
