import type { FileRegistry } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { dialectProblems } from '../../../../../src/platform/rpc/rest/schema/dialect.ts'
import { bindingsOf } from '../../../../../src/platform/rpc/rest/schema/rules.ts'
import {
  buildRouter,
  RouteTableError,
  routeEntries,
} from '../../../../../src/platform/rpc/rest/schema/table.ts'
import { seededRandom } from '../random.ts'
import { compileSchema, serviceOf } from '../schema.ts'

const head = `
  syntax = "proto3";
  package test;
  import "rest/v1/rest.proto";
  import "google/api/annotations.proto";
  message M { string name = 1; }
`

/**
 * All bindings of the service test.S, with RPC names as targets, and the problems of its rules and
 * dialect.
 */
function routesOf(registry: FileRegistry) {
  const service = serviceOf(registry, 'test.S')
  const results = service.methods.map((method) => bindingsOf(method))
  const bindings = results.flatMap((result) => result.bindings)
  return {
    bindings,
    routes: bindings.map((binding) => ({ binding, target: binding.rpc.name })),
    problems: [...results.flatMap((result) => result.problems), ...dialectProblems(service)],
  }
}

const fine = compileSchema(`${head}
  service S {
    rpc Get(M) returns (M) { option (google.api.http) = {get: "/m/{name}"}; }
    rpc Create(M) returns (M) {
      option (google.api.http) = {post: "/m" body: "*" additional_bindings {post: "/m:create" body: "*"}};
      option (rest.v1.method) = {success_status: 201};
    }
    rpc Delete(M) returns (M) { option (google.api.http) = {delete: "/m/{name}"}; }
    rpc Hidden(M) returns (M);
  }`)

describe('buildRouter', () => {
  it('builds a router from descriptors', () => {
    const { routes, problems } = routesOf(fine)
    const router = buildRouter(routes, problems)
    expect(router.match('DELETE', '/m/x')).toMatchObject({
      kind: 'match',
      route: { target: 'Delete' },
      values: ['x'],
    })
    expect(router.match('POST', '/m')).toMatchObject({
      kind: 'match',
      route: { target: 'Create' },
      values: [],
    })
    expect(router.match('POST', '/test.S/Hidden')).toEqual({ kind: 'notFound' })
  })

  it('reports mistakes of rules, dialects and duplicates together', () => {
    const { routes, problems } = routesOf(
      compileSchema(`${head}
        service S {
          option (rest.v1.dialect) = {scalars: NULL};
          rpc A(M) returns (M) { option (google.api.http) = {get: "/m/{name}"}; }
          rpc B(M) returns (M) { option (google.api.http) = {get: "/{name=m/*}"}; }
          rpc C(M) returns (M) { option (google.api.http) = {get: "/{nothing}"}; }
          rpc D(M) returns (M) { option (google.api.http) = {get: "/m/"}; }
        }`),
    )
    let thrown: unknown
    try {
      buildRouter(routes, problems)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(RouteTableError)
    const error = thrown as RouteTableError
    expect(error.problems).toEqual([
      'test.S/C: (google.api.http): GET /{nothing}: variable nothing: test.M has no field nothing',
      'test.S/D: (google.api.http): GET /m/: column 4: trailing slash',
      expect.stringContaining('test.S: (rest.v1.dialect).scalars'),
      expect.stringMatching(/test\.S\/A \/m\/\{name\}.*test\.S\/B \/\{name=m\/\*\}/),
    ])
    for (const problem of error.problems) expect(error.message).toContain(problem)
  })
})

describe('routeEntries', () => {
  it('returns method, template, RPC and status, sorted by template', () => {
    const { bindings } = routesOf(fine)
    const random = seededRandom(7)
    for (let i = 0; i < 10; i++) {
      const entries = routeEntries(random.shuffle(bindings))
      expect(
        entries.map(({ method, template, rpc, status }) => [method, template, rpc, status]),
      ).toEqual([
        ['POST', '/m', 'test.S/Create', 201],
        ['DELETE', '/m/{name}', 'test.S/Delete', 200],
        ['GET', '/m/{name}', 'test.S/Get', 200],
        ['POST', '/m:create', 'test.S/Create', 201],
      ])
    }
  })
})
