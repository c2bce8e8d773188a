import { describe, expect, it } from 'vitest'
import { bindingsOf } from '../../../../../src/platform/rpc/rest/schema/rules.ts'
import type { Router } from '../../../../../src/platform/rpc/rest/schema/tree.ts'
import { RouteTree } from '../../../../../src/platform/rpc/rest/schema/tree.ts'
import { seededRandom } from '../random.ts'
import { answer, bindingFor, routerOf, strict } from '../routing.ts'
import { compileSchema, serviceOf } from '../schema.ts'

type Cases = [request: string, answer: unknown[]][]

function check(rules: readonly string[], cases: Cases, lenientRules: readonly string[] = []): void {
  const router = routerOf(rules, lenientRules)
  expect(cases.map(([request]) => [request, answer(router, request)])).toEqual(cases)
}

describe('matching', () => {
  it('follows the examples of google/api/http.proto', () => {
    const byName = 'GET /v1/{name=messages/*}'
    const byUser = 'GET /v1/users/{user_id}/messages/{message_id}'
    const update = 'PATCH /v1/messages/{message_id}'
    check(
      [byName, byUser, update],
      [
        ['GET /v1/messages/123456', [byName, 'messages/123456']],
        ['GET /v1/messages/123456?revision=2&sub.subfield=foo', [byName, 'messages/123456']],
        ['GET /v1/users/me/messages/123456', [byUser, 'me', '123456']],
        ['PATCH /v1/messages/123456', [update, '123456']],
      ],
    )
  })

  it('prefers a template for text to a template for a number if a segment is not a number', () => {
    const registry = compileSchema(`
      syntax = "proto3";
      package test;
      import "rest/v1/rest.proto";
      import "google/api/annotations.proto";
      message M { int64 index = 1; string base = 2; string head = 3; }
      service Lenient {
        option (rest.v1.dialect) = {query: QUERY_LENIENT};
        rpc Edit(M) returns (M) { option (google.api.http) = {patch: "/pulls/{index}" body: "*"}; }
        rpc Files(M) returns (M) { option (google.api.http) = {get: "/pulls/{index}/files"}; }
        rpc Between(M) returns (M) { option (google.api.http) = {get: "/pulls/{base}/{head=**}"}; }
      }`)
    const tree = new RouteTree<string>()
    for (const method of serviceOf(registry, 'test.Lenient').methods) {
      for (const binding of bindingsOf(method).bindings) tree.add(binding, method.name)
    }
    const router = tree.freeze()
    const cases: Cases = [
      ['GET /pulls/7/files', ['Files', '7']],
      ['GET /pulls/main/files', ['Between', 'main', 'files']],
      ['GET /pulls/7/fix/7', ['Between', '7', 'fix/7']],
      // Nothing else takes it: the number will be 0.
      ['PATCH /pulls/main', ['Edit', 'main']],
      ['POST /pulls/main/files', [405, 'GET', 'HEAD', 'OPTIONS']],
    ]
    expect(cases.map(([request]) => [request, answer(router, request)])).toEqual(cases)
  })

  it('compares literals decoded and case-sensitively', () => {
    check(
      ['GET /~user/a%2Fb/%C3%A9'],
      [
        ['GET /~user/a%2Fb/%C3%A9', ['GET /~user/a%2Fb/%C3%A9']],
        ['GET /%7euse%72/a%2fb/%c3%a9', ['GET /~user/a%2Fb/%C3%A9']],
        ['GET /~user/a/b/%C3%A9', [404]], // an escaped slash separates nothing
        ['GET /~User/a%2Fb/%C3%A9', [404]],
      ],
    )
  })

  it('requires text in every segment and no trailing slash', () => {
    check(
      ['GET /a/{x}/b', 'GET /a', 'GET /c/*'],
      [
        ['GET /a/1/b', ['GET /a/{x}/b', '1']],
        ['GET /a//b', [404]],
        ['GET /a/1/b/', [404]],
        ['GET /a/', [404]],
        ['GET //a', [404]],
        ['GET /c/', [404]],
        ['GET /c/x', ['GET /c/*']],
        ['GET /', [404]],
      ],
    )
  })

  it('matches ** with any number of non-empty segments', () => {
    check(
      ['GET /files/{path=**}', 'GET /{name=all/**}'],
      [
        ['GET /files', ['GET /files/{path=**}', '']],
        ['GET /files/', ['GET /files/{path=**}', '']],
        ['GET /files/a', ['GET /files/{path=**}', 'a']],
        ['GET /files/a/b/c', ['GET /files/{path=**}', 'a/b/c']],
        ['GET /files/a/', [404]],
        ['GET /files//a', [404]],
        ['GET /files//', [404]],
        ['GET /filesx', [404]],
        ['GET /all', ['GET /{name=all/**}', 'all']],
        ['GET /all/', ['GET /{name=all/**}', 'all']],
        ['GET /all/x/y', ['GET /{name=all/**}', 'all/x/y']],
      ],
    )
  })

  it('serves the root', () => {
    check(
      ['GET /'],
      [
        ['GET /', ['GET /']],
        ['GET http://host', ['GET /']],
        ['GET //', [404]],
        ['GET /?x', ['GET /']],
      ],
    )
    check(
      ['GET /', 'GET /{path=**}'],
      [
        ['GET /', ['GET /']],
        ['GET /x', ['GET /{path=**}', 'x']],
      ],
    )
    check(
      ['GET /{path=**}'],
      [
        ['GET /', ['GET /{path=**}', '']],
        ['GET //', [404]],
      ],
    )
  })

  it('matches the path of an absolute target, and no other form', () => {
    check(
      ['GET /a/{x}', 'GET /**'],
      [
        ['GET http://host:80/a/b?c', ['GET /a/{x}', 'b']],
        ['GET *', [404]],
        ['GET host:443', [404]],
      ],
    )
  })

  it('treats dots and names of object properties as text', () => {
    check(
      ['GET /a/{x}/{y}', 'GET /__proto__/constructor'],
      [
        ['GET /a/../.', ['GET /a/{x}/{y}', '..', '.']],
        ['GET /a/__proto__/toString', ['GET /a/{x}/{y}', '__proto__', 'toString']],
        ['GET /__proto__/constructor', ['GET /__proto__/constructor']],
        ['GET /__proto__', [404]],
        ['GET /constructor', [404]],
        ['__proto__ /__proto__/constructor', [405, 'GET', 'HEAD', 'OPTIONS']],
      ],
    )
  })
})

describe('decoding', () => {
  it('decodes single segments completely, and keeps escaped slashes in multi-segment variables', () => {
    const cases: Cases = [
      ['GET /s/a%2Fb%20c+d', ['GET /s/{x}', 'a/b c+d']],
      ['GET /s/%252F', ['GET /s/{x}', '%2F']],
      ['GET /m/a%2fb/%41%3A', ['GET /m/{x=**}', 'a%2fb/A:']],
      ['GET /m/a%2Fb', ['GET /m/{x=**}', 'a%2Fb']], // multi although it took one segment
      ['GET /n/o%2Fp', ['GET /{x=n/*}', 'n/o%2Fp']],
      ['GET /%66/1', ['GET /{x=f}/1', 'f']],
    ]
    check(['GET /s/{x}', 'GET /m/{x=**}', 'GET /{x=n/*}', 'GET /{x=f}/1'], cases)
  })

  it('rejects a malformed escape in a wildcard, and finds no route for one in a literal', () => {
    check(
      ['GET /s/{x}', 'GET /m/{x=**}', 'GET /w/*', 'GET /d/{a}.{b}', 'GET /l/literal'],
      [
        ['GET /s/%zz', [400]],
        ['GET /s/%FF', [400]],
        ['GET /s/%', [400]],
        ['GET /m/a/%4', [400]],
        ['GET /w/%zz', [400]],
        ['GET /d/x.%zz', [400]],
        ['GET /d/%zz', [404]], // no dot, so no route would bind it
        ['GET /l/%zz', [404]],
        ['GET /%zz/x', [404]],
        ['POST /s/%zz', [405, 'GET', 'HEAD', 'OPTIONS']],
      ],
    )
  })
})

describe('precedence', () => {
  it('prefers literal, mixed, * and ** in this order, from the left', () => {
    check(
      ['GET /a/b', 'GET /a/{x}.b', 'GET /a/{x}', 'GET /{x}/b', 'GET /a/{x=**}', 'GET /{x=**}'],
      [
        ['GET /a/b', ['GET /a/b']],
        ['GET /a/b.b', ['GET /a/{x}.b', 'b']],
        ['GET /a/c', ['GET /a/{x}', 'c']],
        ['GET /c/b', ['GET /{x}/b', 'c']],
        ['GET /a/b/c', ['GET /a/{x=**}', 'b/c']],
        ['GET /a', ['GET /a/{x=**}', '']],
        ['GET /c/d', ['GET /{x=**}', 'c/d']],
      ],
    )
  })

  it('backtracks from a literal branch that fails later', () => {
    check(
      ['GET /a/b/c/d', 'GET /a/{x}/c/e', 'GET /{x}/b/{y}/f', 'GET /a/b/{x=**}'],
      [
        ['GET /a/b/c/d', ['GET /a/b/c/d']],
        ['GET /a/b/c/e', ['GET /a/b/{x=**}', 'c/e']], // the literal b decides before the literal e is seen
        ['GET /a/z/c/e', ['GET /a/{x}/c/e', 'z']],
        ['GET /z/b/c/f', ['GET /{x}/b/{y}/f', 'z', 'c']],
      ],
    )
  })

  it('ignores templates without the method', () => {
    check(
      ['POST /a/b', 'GET /a/{x}', 'DELETE /{x=**}'],
      [
        ['POST /a/b', ['POST /a/b']],
        ['GET /a/b', ['GET /a/{x}', 'b']],
        ['DELETE /a/b', ['DELETE /{x=**}', 'a/b']],
        ['PUT /a/b', [405, 'OPTIONS', 'POST']],
      ],
    )
  })

  it('prefers an exact method to any method on the same template, not on a more general one', () => {
    check(
      ['* /a/{x}', 'GET /a/{x}', 'PUT /{x=**}'],
      [
        ['GET /a/1', ['GET /a/{x}', '1']],
        ['HEAD /a/1', ['GET /a/{x}', '1']],
        ['PUT /a/1', ['* /a/{x}', '1']],
        ['PURGE /a/1', ['* /a/{x}', '1']],
        ['OPTIONS /a/1', [405, 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']], // answered by the server
      ],
    )
  })

  it('orders mixed segments: alternatives, then more literal characters', () => {
    check(
      ['GET /{i}', 'GET /{i}.{k=diff|patch}', 'GET /{i}.x.{k}', 'GET /{i}.{k}'],
      [
        ['GET /1.x.diff', ['GET /{i}.{k=diff|patch}', '1.x', 'diff']],
        ['GET /1.x.zip', ['GET /{i}.x.{k}', '1', 'zip']],
        ['GET /1.zip', ['GET /{i}.{k}', '1', 'zip']],
        ['GET /1', ['GET /{i}', '1']],
      ],
    )
  })

  it('does not depend on the order of declaration', () => {
    const rules = [
      'GET /a/b',
      'GET /a/{x}.b',
      'GET /a/{x}.{k=b|c}',
      'GET /a/{x}-{y}',
      'GET /a/{x}.{y}',
      'GET /a/{x}',
    ]
    const more = [
      'GET /{x}/b',
      'POST /a/b',
      'GET /**',
      'GET /**/b',
      'GET /**/a/b',
      'GET /a/{x}:b',
      'GET /a/**:b',
      '* /{x}/b',
    ]
    const requests = [
      '/a/b',
      '/a/b.b',
      '/a/1-2.c',
      '/a/1.2-c',
      '/c/a/b',
      '/c/b',
      '/a/1:b',
      '/a/b:b',
      '/x/y/b',
      '/a',
    ]
    const random = seededRandom(4)
    const answers = (router: Router<string>) =>
      requests.flatMap((path) =>
        ['GET', 'POST', 'PUT'].map((httpMethod) => answer(router, `${httpMethod} ${path}`)),
      )
    const expected = answers(routerOf([...rules, ...more]))
    for (let i = 0; i < 50; i++)
      expect(answers(routerOf(random.shuffle([...rules, ...more])))).toEqual(expected)
  })
})

describe('verbs', () => {
  it('follow the last colon of the last segment', () => {
    const cases: Cases = [
      ['POST /issues/7:close', ['POST /issues/{id}:close', '7']],
      ['GET /issues/a:b', ['GET /issues/{id}', 'a:b']],
      ['GET /issues/7:close', ['GET /issues/{id}', '7:close']], // no GET route has the verb
      ['POST /issues/a:b:close', ['POST /issues/{id}:close', 'a:b']],
      ['POST /issues/7:Close', [405, 'GET', 'HEAD', 'OPTIONS']],
      ['POST /issues/7%3Aclose', [405, 'GET', 'HEAD', 'OPTIONS']], // an escaped colon is text
      ['GET /issues/7%3Aclose', ['GET /issues/{id}', '7:close']],
      ['POST /issues/7:cl%6Fse', ['POST /issues/{id}:close', '7']],
      ['GET /issues/7:', ['GET /issues/{id}', '7:']], // a trailing colon is text
      ['POST /issues/:close', [405, 'GET', 'HEAD', 'OPTIONS']], // nothing is left for the segment
      ['GET /issues/7:%zz', [400]],
      ['POST /issues:close/7', [404]], // in an earlier segment
      ['PUT /issues/7:close', [405, 'OPTIONS', 'POST']],
    ]
    check(['POST /issues/{id}:close', 'GET /issues/{id}'], cases)
  })

  it('take precedence over the same text without a verb', () => {
    check(
      ['GET /a/{x}:v', 'GET /a/b%3Av'],
      [
        ['GET /a/b:v', ['GET /a/{x}:v', 'b']],
        ['GET /a/b%3Av', ['GET /a/b%3Av']],
      ],
    )
  })

  it('follow ** as well', () => {
    check(
      ['GET /f/{p=**}:raw', 'GET /f/{p=**}', 'GET /g/{p=**}/end:raw'],
      [
        ['GET /f/a/b:raw', ['GET /f/{p=**}:raw', 'a/b']],
        ['GET /f:raw', ['GET /f/{p=**}:raw', '']],
        ['GET /f/:raw', ['GET /f/{p=**}:raw', '']],
        ['GET /f/a:raw/b', ['GET /f/{p=**}', 'a:raw/b']],
        ['GET /f/a:other', ['GET /f/{p=**}', 'a:other']],
        ['GET /g/a/b/end:raw', ['GET /g/{p=**}/end:raw', 'a/b']],
      ],
    )
  })
})

describe('extended templates', () => {
  it('split one segment into several values', () => {
    const mixed = 'GET /pulls/{index}.{kind=diff|patch}'
    check(
      [
        mixed,
        'GET /pulls/{index}',
        'GET /compare/{base}...{head}',
        'GET /archive/{ref}.{format=zip|tar.gz}',
      ],
      [
        ['GET /pulls/12.diff', [mixed, '12', 'diff']],
        ['GET /pulls/v1.2.diff', [mixed, 'v1.2', 'diff']],
        ['GET /pulls/12%2Epatch', [mixed, '12', 'patch']], // decoded, then split
        ['GET /pulls/a%2Fb.diff', [mixed, 'a/b', 'diff']],
        ['GET /pulls/a%252Fb.diff', [mixed, 'a%2Fb', 'diff']], // decoded once
        ['GET /pulls/12', ['GET /pulls/{index}', '12']],
        ['GET /pulls/12.zip', ['GET /pulls/{index}', '12.zip']],
        ['GET /pulls/.diff', ['GET /pulls/{index}', '.diff']],
        ['GET /compare/main...topic%2Fx', ['GET /compare/{base}...{head}', 'main', 'topic/x']],
        ['GET /compare/main..x', [404]],
        ['GET /archive/v1.0.tar.gz', ['GET /archive/{ref}.{format=zip|tar.gz}', 'v1.0', 'tar.gz']],
      ],
    )
  })

  it('backtrack from a mixed segment whose branch fails later', () => {
    check(
      ['GET /{a}.{b}/x', 'GET /{a}/y', 'POST /{a}.{b}/y'],
      [
        ['GET /1.2/x', ['GET /{a}.{b}/x', '1', '2']],
        ['GET /1.2/y', ['GET /{a}/y', '1.2']],
      ],
    )
  })

  it('match the literals after ** from the end, the longest tail first', () => {
    const [plain, tail, long] = [
      'GET /b/{b=**}',
      'GET /b/{b=**}/protection',
      'GET /b/{b=**}/required/protection',
    ]
    check(
      [plain, tail, long, 'GET /i/{x=**/in}/{y=out}', 'POST /b/{b=**}/required/protection/x'],
      [
        ['GET /b/main', [plain, 'main']],
        ['GET /b/feature/x/protection', [tail, 'feature/x']],
        ['GET /b/protection', [plain, 'protection']], // a tail leaves ** one segment
        ['GET /b/protection/protection', [tail, 'protection']],
        ['GET /b/x/required/protection', [long, 'x']],
        ['GET /b/required/protection', [tail, 'required']],
        ['GET /b/x/required/protection/x', [plain, 'x/required/protection/x']], // the tail serves POST only
        ['GET /b/x/%70rotection', [tail, 'x']],
        ['GET /b/x/protection/', [404]],
        ['GET /b/x//protection', [404]],
        ['GET /b', [plain, '']],
        ['GET /i/a/b/in/out', ['GET /i/{x=**/in}/{y=out}', 'a/b/in', 'out']],
        ['GET /i/in/out', [404]],
      ],
    )
  })

  it('bind variables on both sides of **', () => {
    check(
      ['GET /r/{o}/{n}/c/{p=**}/{v=raw}'],
      [
        [
          'GET /r/o%2F/n/c/a%2F/b/raw',
          ['GET /r/{o}/{n}/c/{p=**}/{v=raw}', 'o/', 'n', 'a%2F/b', 'raw'],
        ],
      ],
    )
  })
})

describe('methods', () => {
  it('serves HEAD by GET routes unless a HEAD rule exists', () => {
    check(
      ['GET /a', 'GET /b', 'HEAD /b', 'POST /c'],
      [
        ['HEAD /a', ['GET /a']],
        ['HEAD /b', ['HEAD /b']],
        ['HEAD /c', [405, 'OPTIONS', 'POST']],
        ['get /a', [405, 'GET', 'HEAD', 'OPTIONS']], // methods are case-sensitive, RFC 9110 9.1
      ],
    )
  })

  it('serves OPTIONS by rules that name it', () => {
    check(['OPTIONS /a', 'GET /a'], [['OPTIONS /a', ['OPTIONS /a']]])
  })

  it('lists the methods of the most specific path that matches', () => {
    const router = routerOf([
      'PUT /a/{x}',
      'POST /a/b',
      'PATCH /a/b',
      'DELETE /{x=**}',
      'PATCH /a/{x}:b',
      'GET /other',
      'POST /files',
      'GET /files/{path=**}',
    ])
    expect(router.allowed('/a/b')).toEqual(['OPTIONS', 'PATCH', 'POST'])
    expect(router.allowed('/a/c')).toEqual(['OPTIONS', 'PUT'])
    expect(router.allowed('/a/c:b?x')).toEqual(['OPTIONS', 'PATCH'])
    expect(router.allowed('/a/c:d')).toEqual(['OPTIONS', 'PUT'])
    expect(router.allowed('/other')).toEqual(['GET', 'HEAD', 'OPTIONS'])
    expect(router.allowed('/any/thing')).toEqual(['DELETE', 'OPTIONS'])
    expect(router.allowed('/files')).toEqual(['OPTIONS', 'POST'])
    expect(router.allowed('/files/a')).toEqual(['GET', 'HEAD', 'OPTIONS'])
    expect(router.allowed('/other/')).toBeUndefined()
    expect(router.allowed('*')).toBeUndefined()
  })
})

describe('lenient slashes', () => {
  it('apply to paths without a route, for services with the option', () => {
    check(
      ['GET /strict/{x}', 'GET /both/{x}'],
      [
        ['GET /repos/a/b', ['GET /repos/{o}/{n}', 'a', 'b']],
        ['GET /repos/a/b/', ['GET /repos/{o}/{n}', 'a', 'b']],
        ['GET //repos//a/b//?x', ['GET /repos/{o}/{n}', 'a', 'b']],
        ['GET /strict/a/', [404]],
        ['PUT /repos/a/b/', [405, 'GET', 'HEAD', 'OPTIONS']],
        ['GET /f//a//b/', ['GET /f/{p=**}', 'a/b']],
        ['GET /f/', ['GET /f/{p=**}', '']],
        ['GET /f/a%2Fb/c%252Fd', ['GET /f/{p=**}', 'a/b/c%2Fd']], // decoded once
        ['POST /both/x/', ['POST /both/{x}', 'x']],
        ['GET /both/x/', [405, 'OPTIONS', 'POST']], // GET belongs to a strict service
        ['GET /repos//b', [404]],
        ['POST /both/x:v/', ['POST /both/{x}', 'x:v']],
      ],
      ['GET /repos/{o}/{n}', 'GET /f/{p=**}', 'POST /both/{x}'],
    )
  })

  it('apply to the list of methods', () => {
    const router = routerOf(['GET /a'], ['GET /b'])
    expect(router.allowed('/a/')).toBeUndefined()
    expect(router.allowed('//b/')).toEqual(['GET', 'HEAD', 'OPTIONS'])
  })
})

describe('duplicates', () => {
  it.each([
    ['GET /a/{x}', 'GET /a/{y.z}'],
    ['GET /a/{x}', 'GET /a/*'],
    ['GET /{x=a/*}', 'GET /a/{y}'],
    ['GET /a/b', 'GET /%61/{x=b}'],
    ['GET /{x=**}:v', 'GET /**:v'],
    ['GET /{x=**}/t', 'GET /{x=**/t}'],
    ['GET /{a}.{b=x|y}', 'GET /{c}.{d=y|x}'],
    ['* /a', '* /a'],
  ])('%s and %s are reported with both methods', (first, second) => {
    const tree = new RouteTree<undefined>()
    tree.add(bindingFor(first, strict, 'A'), undefined)
    tree.add(bindingFor(second, strict, 'B'), undefined)
    const [problem, ...others] = tree.problems()
    expect(others).toEqual([])
    for (const text of [
      'test.Strict/A',
      'test.Strict/B',
      first.split(' ')[1],
      second.split(' ')[1],
    ]) {
      expect(problem).toContain(text)
    }
  })

  it.each([
    ['GET /a/{x}', 'POST /a/{x}'],
    ['GET /a/{x}', '* /a/{x}'],
    ['GET /a/{x}', 'GET /a/{x}:v'],
    ['GET /a/{x}', 'GET /a/{x=**}'],
    ['GET /a/{x=**}', 'GET /a'],
    ['GET /{a}.{b}', 'GET /{a}-{b}'],
    ['GET /{a}.{b=x|y}', 'GET /{a}.{b=x}'],
    ['GET /{x=**}/t', 'GET /{x=**}'],
    ['GET /', 'GET /{x=**}'],
  ])('%s and %s are not duplicates', (first, second) => {
    const tree = new RouteTree<undefined>()
    tree.add(bindingFor(first, strict), undefined)
    tree.add(bindingFor(second, strict), undefined)
    expect(tree.problems()).toEqual([])
  })
})
