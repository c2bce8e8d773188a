import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  type DescFile,
  type DescMethod,
  getOption,
  isFieldSet,
  ScalarType,
} from '@bufbuild/protobuf'
import { nestedTypes } from '@bufbuild/protobuf/reflect'
import {
  MethodOptions_IdempotencyLevel as IdempotencyLevel,
  MethodOptionsSchema,
} from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { Audience, access } from '#gen/branchline/access/v1/access_pb.ts'
import {
  ErrorReason,
  ErrorReasonSchema,
  fails_with,
  implies,
} from '#gen/branchline/v1/error_reason_pb.ts'
import { comments } from '#gen/comments.ts'
import { failures } from '#gen/failures.ts'
import { FieldBehavior, field_behavior } from '#gen/google/api/field_behavior_pb.ts'
import { CodeSchema } from '#gen/google/rpc/code_pb.ts'
import { refusal, restStatusOf } from '../src/edge/errors.ts'
import { Scopes } from '../src/forge/core/scopes.ts'
import { dialectProblems } from '../src/platform/rpc/rest/schema/dialect.ts'
import { bindingsOf } from '../src/platform/rpc/rest/schema/rules.ts'
import { buildRouter } from '../src/platform/rpc/rest/schema/table.ts'

const files = await loadFiles('branchline/v1')
const types = files.flatMap((file) => [...nestedTypes(file)])
const services = types.filter((type) => type.kind === 'service')
const methods = services.flatMap((service) => service.methods)

/** The descriptors of all files in a folder of gen/. */
async function loadFiles(folder: string): Promise<DescFile[]> {
  const url = new URL(`../gen/${folder}/`, import.meta.url)
  const names = readdirSync(fileURLToPath(url)).filter((name) => name.endsWith('_pb.ts'))
  const modules: Record<string, unknown>[] = await Promise.all(
    names.map((name) => import(new URL(name, url).href)),
  )
  return modules.flatMap((module) => Object.values(module).filter(isFile))
}

function isFile(value: unknown): value is DescFile {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'file'
}

/** The name under which a comment is stored: fields, values and methods have none of their own. */
function fullName(
  desc: { typeName: string } | { name: string; parent: { typeName: string } },
): string {
  return 'typeName' in desc ? desc.typeName : `${desc.parent.typeName}.${desc.name}`
}

/** The reasons that a reason implies, directly or by others. */
function impliedBy(reason: ErrorReason, found = new Set<ErrorReason>()): Set<ErrorReason> {
  const value = ErrorReasonSchema.value[reason]
  for (const implied of value ? getOption(value, implies) : []) {
    if (found.has(implied)) continue
    found.add(implied)
    impliedBy(implied, found)
  }
  return found
}

/** What is wrong with the methods, by a function that says what is wrong with one. */
function mistakes(mistakesOf: (method: DescMethod) => readonly string[]): string[] {
  return methods.flatMap((method) =>
    mistakesOf(method).map((mistake) => `${fullName(method)}: ${mistake}`),
  )
}

it('a field whose comment calls it required is REQUIRED, as the description of the API shows', () => {
  const required = types
    .flatMap((type) => (type.kind === 'message' ? type.fields : []))
    .filter((field) => comments.get(fullName(field))?.endsWith('Required.'))
  expect(required.length).toBeGreaterThan(40)
  const unmarked = required.filter(
    (field) => !getOption(field, field_behavior).includes(FieldBehavior.REQUIRED),
  )
  expect(unmarked.map(fullName)).toEqual([])
})

it('the walk covers the schema', () => {
  expect(methods.map(fullName)).toEqual(
    expect.arrayContaining([
      'branchline.v1.UserService.GetUser',
      'branchline.v1.AuthService.SignIn',
    ]),
  )
})

describe('every message, field, enum, value and service', () => {
  it('has a comment', () => {
    const elements = types.flatMap((type): Parameters<typeof fullName>[0][] => {
      if (type.kind === 'message') return [type, ...type.fields]
      if (type.kind === 'enum') return [type, ...type.values]
      return [type]
    })
    expect(elements.map(fullName).filter((name) => !comments.has(name))).toEqual([])
  })
})

describe('every method', () => {
  it('has a comment', () => {
    expect(methods.map(fullName).filter((name) => !comments.has(name))).toEqual([])
  })

  it('lists its failures, each reason once and none that another one implies', () => {
    const found = mistakes((method) => {
      const listed = getOption(method, fails_with)
      const reasons = listed.map(({ reason }) => reason)
      const implied = new Set(reasons.flatMap((reason) => [...impliedBy(reason)]))
      return [
        ...(listed.length === 0 ? ['no failures'] : []),
        ...reasons
          .filter((reason, i) => reason === 0 || reasons.indexOf(reason) !== i)
          .map((reason) => `${ErrorReason[reason]} twice, or no reason`),
        ...listed
          .filter(({ reason, condition }) => condition === '' && implied.has(reason))
          .map(({ reason }) => `${ErrorReason[reason]}, which another one implies`),
        ...listed
          .filter(({ condition }) => condition !== '' && !/^[A-Z`].*\.$/.test(condition))
          .map(({ condition }) => `"${condition}" is no sentence`),
      ]
    })
    expect(found).toEqual([])
  })

  it('has all its failures, with their conditions, where programs look for them', () => {
    const found = mistakes((method) => {
      const reasons = getOption(method, fails_with).flatMap(({ reason }) => [
        reason,
        ...impliedBy(reason),
      ])
      const names = new Set(reasons.map((reason) => ErrorReason[reason]))
      const generated = failures.get(fullName(method)) ?? []
      return names.size === generated.length &&
        generated.every(({ reason, condition }) => names.has(reason) && condition !== '')
        ? []
        : ['not as in gen/failures.ts']
    })
    expect(found).toEqual([])
  })

  it('says who may call it', () => {
    const found = mistakes((method) => {
      const { audience, owner, scope } = getOption(method, access)
      const isAboutOwner = audience === Audience.SELF || audience === Audience.SELF_OR_ADMIN
      return [
        ...(audience === Audience.AUDIENCE_UNSPECIFIED ? ['no audience'] : []),
        ...(scope !== '' && !scope.split(' ').every(isScope)
          ? [`"${scope}" is no scope that a method can need`]
          : []),
        ...(isAboutOwner !== (owner !== '') ? ['an owner, or none, against its audience'] : []),
        ...(owner !== '' && !isStringField(method, owner)
          ? [`${owner} is no string field of the request`]
          : []),
      ]
    })
    expect(found).toEqual([])
  })

  it('states its idempotency, be it unknown', () => {
    const found = mistakes(({ proto: { options } }) =>
      options && isFieldSet(options, MethodOptionsSchema.field.idempotencyLevel)
        ? []
        : ['no idempotency_level'],
    )
    expect(found).toEqual([])
  })

  it('has a REST route without mistakes, and a GET route only if it has no side effects', () => {
    const found = mistakes((method) => {
      const { bindings, problems } = bindingsOf(method, services)
      const isRead = method.idempotency === IdempotencyLevel.NO_SIDE_EFFECTS
      const unsafe = bindings.filter(
        ({ httpMethod }) => !isRead && (httpMethod === 'GET' || httpMethod === 'HEAD'),
      )
      return [
        ...(bindings.length === 0 ? ['no REST route'] : []),
        ...problems,
        ...unsafe.map(({ template }) => `${template.text} by GET, with side effects`),
      ]
    })
    expect(found).toEqual([])
  })

  it('speaks a dialect without mistakes', () => {
    expect(services.flatMap((service) => dialectProblems(service, services))).toEqual([])
  })

  it('has its REST routes to itself', () => {
    const routes = methods
      .flatMap((method) => bindingsOf(method, services).bindings)
      .map((binding) => ({ binding, target: undefined }))
    expect(() => buildRouter(routes, [])).not.toThrow()
  })
})

/**
 * `read:<category>` or `write:<category>`: wider ones are for tokens to have, not for methods to
 * need.
 */
function isScope(scope: string): boolean {
  if (!/^(read|write):/.test(scope)) return false
  try {
    return Scopes.parse([scope]).names.length === 1
  } catch {
    return false
  }
}

function isStringField(method: DescMethod, path: string): boolean {
  const names = path.split('.')
  const last = names.pop()
  let message: DescMethod['input'] | undefined = method.input
  for (const name of names) message = message?.fields.find((field) => field.name === name)?.message
  const field = message?.fields.find(({ name }) => name === last)
  return field?.fieldKind === 'scalar' && field.scalar === ScalarType.STRING
}

describe('every reason', () => {
  const reasons = ErrorReasonSchema.values.filter(({ number }) => number !== 0)

  /** The last paragraph starts with them, for example `NOT_FOUND, REST 404. Metadata: none.` */
  function documentedStatuses(reason: string): { code: number; status: number } | undefined {
    const comment = comments.get(`${ErrorReasonSchema.typeName}.${reason}`) ?? ''
    const [, code, status] = /\n\n([A-Z_]+), REST (\d{3})\b[\s\S]+Metadata: /.exec(comment) ?? []
    const value = CodeSchema.values.find(({ name }) => name === code)
    return value && { code: value.number, status: Number(status) }
  }

  it('has a comment with its RPC code, its REST status and its metadata', () => {
    const undocumented = reasons.filter(({ name }) => documentedStatuses(name) === undefined)
    expect(undocumented.map(({ name }) => name)).toEqual([])
  })

  const answered = reasons
    .map(({ name }) => name)
    .filter((name) => restStatusOf(name) !== undefined)

  it.each(answered)('is answered as its comment says: %s', (reason) => {
    const { code } = refusal(reason as Parameters<typeof refusal>[0])
    expect({ code, status: restStatusOf(reason) }).toEqual(documentedStatuses(reason))
  })
})
