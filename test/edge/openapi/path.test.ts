import { describe, expect, it } from 'vitest'
import { documentPath } from '../../../src/edge/openapi/path.ts'
import { parseTemplate } from '../../../src/platform/rpc/rest/schema/template.ts'

describe('documentPath', () => {
  it.each([
    ['/', '/', []],
    ['/api/v1/users', '/api/v1/users', []],
    ['/api/v1/users:batchGet', '/api/v1/users:batchGet', []],
    ['/a%20b/%7B', '/a%20b/%7B', []],
    ['/repos/{owner}/{repo}', '/repos/{owner}/{repo}', ['owner', 'repo']],
    ['/{name=users/*}', '/users/{user}', ['user']],
    ['/{name=users/*}:archive', '/users/{user}:archive', ['user']],
    ['/{user.name=users/*}', '/users/{user}', ['user']],
    ['/file/{name=users/*/avatar}', '/file/users/{user}/avatar', ['user']],
    [
      '/{name=users/*/linkedIdentities/*}',
      '/users/{user}/linkedIdentities/{linked_identity}',
      ['user', 'linked_identity'],
    ],
    [
      '/{name=releases/*/branches/*/statuses/*}',
      '/releases/{release}/branches/{branch}/statuses/{status}',
      null,
    ],
    // Two collections of one name.
    ['/{name=users/*/users/*}', '/users/{user}/users/{user_2}', ['user', 'user_2']],
    // Nothing before the wildcard to name it after.
    ['/v1/{name=*/things}', '/v1/{name}/things', ['name']],
    ['/{inner.id}', '/{inner_id}', ['inner_id']],
    ['/{kind=fixed}', '/fixed', []],
    ['/things/*', '/things/{thing}', ['thing']],
    ['/files/{path=**}', '/files/{path}', ['path']],
    ['/branches/{branch=**}/protection', '/branches/{branch}/protection', ['branch']],
    ['/pulls/{index}.{kind=diff|patch}', '/pulls/{index}.{kind}', ['index', 'kind']],
  ])('writes %s as %s', (template, text, names) => {
    const path = documentPath(parseTemplate(template, 'extended'))
    expect(path.text).toBe(text)
    if (names !== null) expect(path.parameters.map(({ name }) => name)).toEqual(names)
  })

  it('relates a parameter to its field and resource name', () => {
    const { parameters } = documentPath(
      parseTemplate('/{name=users/*/webhooks/*}/{kind}', 'standard'),
    )
    const resourceName = 'users/{user}/webhooks/{webhook}'
    expect(parameters).toEqual([
      { name: 'user', fieldPath: 'name', resourceName, isLast: false, multi: false },
      { name: 'webhook', fieldPath: 'name', resourceName, isLast: true, multi: false },
      { name: 'kind', fieldPath: 'kind', resourceName: undefined, isLast: false, multi: false },
    ])
  })
})
