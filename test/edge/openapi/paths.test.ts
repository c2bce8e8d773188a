import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let paths: Record<
  string,
  Record<string, { operationId: string; parameters?: { name: string; in: string }[] }>
>

beforeAll(async () => {
  server = await startTestServer()
  paths = ((await (await fetch(`${server.url}/openapi.json`)).json()) as { paths: typeof paths })
    .paths
})
afterAll(() => server.stop())

describe('the paths of the OpenAPI document', () => {
  it('differ not only in the names of their parameters', () => {
    const shapes = Object.keys(paths).map((path) => path.replace(/\{[^}]*\}/g, '{}'))
    expect(shapes.filter((shape, i) => shapes.indexOf(shape) !== i)).toEqual([])
  })

  it('have the parameters that their operations describe', () => {
    for (const [path, operations] of Object.entries(paths)) {
      const named = Array.from(path.matchAll(/\{([^}]*)\}/g), ([, name]) => name)
      for (const { parameters = [] } of Object.values(operations)) {
        const described = parameters
          .filter((parameter) => parameter.in === 'path')
          .map(({ name }) => name)
        expect(described).toEqual(named)
      }
    }
  })

  it.each([
    ['get', '/api/v1/repos/{owner}/{repo}/contents'],
    ['post', '/api/v1/repos/{owner}/{repo}/contents'],
    ['get', '/api/v1/repos/{owner}/{repo}/git/refs'],
    ['get', '/api/v1/repos/{owner}/{repo}/statuses/{ref}'],
    ['post', '/api/v1/repos/{owner}/{repo}/statuses/{ref}'],
  ])('include %s %s', (method, path) => {
    expect(paths[path]?.[method]).toBeDefined()
  })
})
