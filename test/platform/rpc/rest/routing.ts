import type { DescService } from '@bufbuild/protobuf'
import type { Binding } from '../../../../src/platform/rpc/rest/schema/binding.ts'
import { dialectOf } from '../../../../src/platform/rpc/rest/schema/dialect.ts'
import { parseTemplate } from '../../../../src/platform/rpc/rest/schema/template.ts'
import type { Router } from '../../../../src/platform/rpc/rest/schema/tree.ts'
import { RouteTree } from '../../../../src/platform/rpc/rest/schema/tree.ts'
import { compileSchema, methodOf, serviceOf } from './schema.ts'

const registry = compileSchema(`
  syntax = "proto3";
  package test;
  import "rest/v1/rest.proto";
  message M {}
  service Strict { rpc A(M) returns (M); rpc B(M) returns (M); }
  service Lenient {
    option (rest.v1.dialect) = {slashes: SLASHES_LENIENT};
    rpc A(M) returns (M);
  }`)

/** A service without options, with the methods A and B. */
export const strict = serviceOf(registry, 'test.Strict')
const lenient = serviceOf(registry, 'test.Lenient')

/** A binding for a rule such as `GET /a/{b}`, in the extended grammar. */
export function bindingFor(rule: string, service: DescService, rpc = 'A'): Binding {
  const [httpMethod = '', path = ''] = rule.split(' ')
  return {
    rpc: methodOf(service, rpc),
    dialect: dialectOf(service),
    httpMethod,
    template: parseTemplate(path, 'extended'),
    numberSegments: [],
    body: '',
    responseBody: '',
    successStatus: 200,
    isBodiless: false,
    headers: [],
  }
}

/**
 * A router whose targets are the rules themselves, for a strict service and one that forgives
 * slashes.
 */
export function routerOf(
  rules: readonly string[],
  lenientRules: readonly string[] = [],
): Router<string> {
  const tree = new RouteTree<string>()
  for (const rule of rules) tree.add(bindingFor(rule, strict), rule)
  for (const rule of lenientRules) tree.add(bindingFor(rule, lenient), rule)
  if (tree.problems().length > 0) throw new Error(tree.problems().join('\n'))
  return tree.freeze()
}

/**
 * The rule that a request such as `GET /a/1` reaches and the values it gives, or the status and
 * `Allow` of a miss.
 */
export function answer(router: Router<string>, request: string): unknown[] {
  const at = request.indexOf(' ')
  const result = router.match(request.slice(0, at), request.slice(at + 1))
  if (result.kind === 'match') return [result.route.target, ...result.values]
  if (result.kind === 'notAllowed') return [405, ...result.allow]
  return [result.kind === 'notFound' ? 404 : 400]
}
