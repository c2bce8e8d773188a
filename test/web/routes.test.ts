import { describe, expect, it } from 'vitest'
import { routeOf } from '../../src/web/routes.ts'

const at = (path: string) => routeOf(new URL(path, 'http://localhost'))

describe('the page of an address', () => {
  it.each([
    ['/bob/tools/settings', 'general-settings', []],
    ['/bob/tools/settings/hooks/7', 'webhooks', ['7']],
    ['/bob/tools/settings/branches/new', 'branch-rules', ['new']],
    ['/-/admin', 'administration', []],
    ['/-/admin/accounts/bob', 'administration-account', ['bob']],
    ['/constructor', 'account', []],
  ])('%s is %s', (path, name, rest) => {
    expect(at(path)).toMatchObject({ name, props: { rest } })
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
