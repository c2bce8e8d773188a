import { fileURLToPath } from 'node:url'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { create, createFileRegistry, fromBinary, getOption } from '@bufbuild/protobuf'
import type { FileDescriptorProto } from '@bufbuild/protobuf/wkt'
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { Code, createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { access } from '#gen/branchline/access/v1/access_pb.ts'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { file_google_rpc_error_details } from '#gen/google/rpc/error_details_pb.ts'
import type { ServerReflectionRequestSchema } from '#gen/grpc/reflection/v1/reflection_pb.ts'
import { ServerReflection } from '#gen/grpc/reflection/v1/reflection_pb.ts'
import { ServerReflection as ServerReflectionAlpha } from '#gen/grpc/reflection/v1alpha/reflection_pb.ts'
import { Health } from '#gen/health/v1/health_pb.ts'
import { createHealth } from '../../../src/edge/grpc/health.ts'
import { registerReflection } from '../../../src/edge/grpc/reflection.ts'
import type { RpcServer } from '../../platform/rpc/rpc-server.ts'
import { startRpcServer } from '../../platform/rpc/rpc-server.ts'
import { execFile } from '../../support/programs.ts'

let server: RpcServer
beforeAll(async () => {
  server = await startRpcServer((router) => {
    router.service(Health, createHealth([]).service)
    registerReflection(router, [Health, UserService, AuthService], [file_google_rpc_error_details])
  })
})
afterAll(() => server.stop())

type Question = NonNullable<
  MessageInitShape<typeof ServerReflectionRequestSchema>['messageRequest']
>

/** Asks over one stream, and returns the answers in the order of the questions. */
async function ask(
  questions: readonly Question[],
  version: typeof ServerReflection | typeof ServerReflectionAlpha,
) {
  const requests = (async function* () {
    for (const messageRequest of questions) yield { host: 'a.example', messageRequest }
  })()
  const client = createClient(version as typeof ServerReflection, server.transport)
  const responses = []
  for await (const response of client.serverReflectionInfo(requests)) responses.push(response)
  return responses
}

async function askOne(
  question: Question,
  version: typeof ServerReflection | typeof ServerReflectionAlpha = ServerReflection,
) {
  const [response] = await ask([question], version)
  return response?.messageResponse
}

/** The files of an answer, or undefined if it is something else. */
async function filesFor(question: Question) {
  const answer = await askOne(question)
  if (answer?.case !== 'fileDescriptorResponse') return undefined
  return answer.value.fileDescriptorProto.map((bytes) =>
    fromBinary(FileDescriptorProtoSchema, bytes),
  )
}

/** The order of a descriptor set: every file after what it imports. */
function importsFirst(files: readonly FileDescriptorProto[]): FileDescriptorProto[] {
  const ordered = new Set<FileDescriptorProto>()
  const add = (file: FileDescriptorProto) => {
    for (const imported of files) if (file.dependency.includes(imported.name)) add(imported)
    ordered.add(file)
  }
  files.forEach(add)
  return [...ordered]
}

describe.each([
  ['v1', ServerReflection],
  ['v1alpha', ServerReflectionAlpha],
])('reflection %s', (_, version) => {
  it('lists the services of the server, including reflection', async () => {
    const answer = await askOne({ case: 'listServices', value: '' }, version)
    expect(
      answer?.case === 'listServicesResponse' && answer.value.service.map(({ name }) => name),
    ).toEqual([
      'branchline.v1.AuthService',
      'branchline.v1.UserService',
      'grpc.health.v1.Health',
      'grpc.reflection.v1.ServerReflection',
      'grpc.reflection.v1alpha.ServerReflection',
    ])
  })

  it('answers every request of a stream, even with an error, and repeats the request', async () => {
    const questions: Question[] = [
      { case: 'fileByFilename', value: 'no/such.proto' },
      { case: 'allExtensionNumbersOfType', value: 'google.protobuf.ServiceOptions' },
    ]
    expect(await ask(questions, version)).toMatchObject([
      {
        validHost: 'a.example',
        originalRequest: { host: 'a.example', messageRequest: questions[0] },
        messageResponse: { case: 'errorResponse', value: { errorCode: Code.NotFound } },
      },
      {
        originalRequest: { messageRequest: questions[1] },
        messageResponse: { case: 'allExtensionNumbersResponse' },
      },
    ])
  })
})

describe('files', () => {
  it('include all imports, so that a client can build the schema with its options', async () => {
    const files =
      (await filesFor({ case: 'fileByFilename', value: UserService.file.proto.name })) ?? []
    expect(files[0]?.name).toBe(UserService.file.proto.name)
    const registry = createFileRegistry(
      create(FileDescriptorSetSchema, { file: importsFirst(files) }),
    )
    const updateUser = registry.getService(UserService.typeName)?.method.updateUser
    expect(updateUser && getOption(updateUser, access)).toMatchObject({
      owner: 'user.name',
      scope: 'write:user',
    })
  })

  it('include the files of compilers, with the options for code generators', async () => {
    const files =
      (await filesFor({ case: 'fileByFilename', value: UserService.file.proto.name })) ?? []
    const google = files.filter(({ name }) => name.startsWith('google/'))
    expect(google.map(({ name }) => name)).toContain('google/protobuf/descriptor.proto')
    for (const { name, options } of google) {
      expect({ name, ...options }).toMatchObject({
        goPackage: expect.stringMatching(/^google\.golang\.org\//),
        javaPackage: expect.stringMatching(/^com\.google\./),
      })
    }
    expect(files.find(({ name }) => name === 'google/protobuf/descriptor.proto')).toMatchObject({
      syntax: 'proto2',
      options: {
        goPackage: 'google.golang.org/protobuf/types/descriptorpb',
        csharpNamespace: 'Google.Protobuf.Reflection',
      },
    })
  })

  it.each([
    ['a service', 'branchline.v1.UserService', 'branchline/v1/user_service.proto'],
    ['a method', 'branchline.v1.UserService.GetUser', 'branchline/v1/user_service.proto'],
    ['a message', 'branchline.v1.GetUserRequest', 'branchline/v1/user_service.proto'],
    ['a nested message', 'branchline.v1.UserStats.MemoTypeStats', 'branchline/v1/user.proto'],
    ['a field', 'branchline.v1.User.display_name', 'branchline/v1/user.proto'],
    ['a oneof', 'branchline.v1.SignInRequest.credentials', 'branchline/v1/auth_service.proto'],
    ['an enum', 'branchline.v1.State', 'branchline/v1/state.proto'],
    ['an enum value, a sibling of its enum', 'branchline.v1.ARCHIVED', 'branchline/v1/state.proto'],
    ['a value of a nested enum', 'branchline.v1.User.ADMIN', 'branchline/v1/user.proto'],
    ['an extension', 'branchline.access.v1.access', 'branchline/access/v1/access.proto'],
    ['a type that no service mentions', 'google.rpc.ErrorInfo', 'google/rpc/error_details.proto'],
  ])('are found by %s', async (_, value, name) => {
    expect((await filesFor({ case: 'fileContainingSymbol', value }))?.[0]?.name).toBe(name)
  })

  it('are found by extension', async () => {
    const value = { containingType: 'google.protobuf.MethodOptions', extensionNumber: 51824 }
    const files = await filesFor({ case: 'fileContainingExtension', value })
    expect(files?.[0]?.name).toBe('branchline/access/v1/access.proto')
  })
})

describe('extension numbers', () => {
  it('are those of all files, in order', async () => {
    const value = 'google.protobuf.MethodOptions'
    expect(await askOne({ case: 'allExtensionNumbersOfType', value })).toMatchObject({
      case: 'allExtensionNumbersResponse',
      value: { baseTypeName: value, extensionNumber: [51823, 51824, 51825, 72295728] },
    })
  })

  it('may be none', async () => {
    expect(
      await askOne({ case: 'allExtensionNumbersOfType', value: 'branchline.v1.User' }),
    ).toMatchObject({
      value: { extensionNumber: [] },
    })
  })
})

describe('a missing item', () => {
  const notFound: Question[] = [
    { case: 'fileByFilename', value: 'user.proto' },
    { case: 'fileContainingSymbol', value: 'branchline.v1' },
    { case: 'fileContainingSymbol', value: 'branchline.v1.State.ARCHIVED' },
    { case: 'fileContainingSymbol', value: '__proto__' },
    {
      case: 'fileContainingExtension',
      value: { containingType: 'google.protobuf.MethodOptions', extensionNumber: 1 },
    },
    {
      case: 'fileContainingExtension',
      value: { containingType: 'no.Such', extensionNumber: 51824 },
    },
    { case: 'allExtensionNumbersOfType', value: 'no.Such' },
  ]
  it.each(notFound)('is an error: $case $value', async (question) => {
    expect(await askOne(question)).toMatchObject({
      case: 'errorResponse',
      value: { errorCode: Code.NotFound },
    })
  })

  it('is INVALID_ARGUMENT if the request is empty', async () => {
    expect(await askOne({ case: undefined })).toMatchObject({
      case: 'errorResponse',
      value: { errorCode: Code.InvalidArgument },
    })
  })
})

describe('buf curl', () => {
  const buf = fileURLToPath(new URL('../../../node_modules/.bin/buf', import.meta.url))
  const curl = async (...args: string[]) => {
    const { stdout } = await execFile(buf, ['curl', '--http2-prior-knowledge', ...args])
    return stdout
  }

  it('lists the methods of the server', async () => {
    expect((await curl('--list-methods', server.url)).split('\n')).toEqual(
      expect.arrayContaining(['branchline.v1.UserService/GetUser', 'grpc.health.v1.Health/Watch']),
    )
  })

  it('calls a method without a local schema', async () => {
    const answer = await curl(
      '--protocol',
      'grpc',
      '-d',
      '{}',
      `${server.url}/grpc.health.v1.Health/Check`,
    )
    expect(JSON.parse(answer)).toEqual({ status: 'NOT_SERVING' })
  })
})
