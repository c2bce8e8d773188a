import {
  type DescEnum,
  type DescExtension,
  type DescFile,
  type DescMessage,
  type DescService,
  toBinary,
} from '@bufbuild/protobuf'
import { nestedTypes } from '@bufbuild/protobuf/reflect'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { Code, type ConnectRouter } from '@connectrpc/connect'
import { ServerReflection } from '#gen/grpc/reflection/v1/reflection_pb.ts'
import { ServerReflection as ServerReflectionAlpha } from '#gen/grpc/reflection/v1alpha/reflection_pb.ts'
import { protoOf } from '../operator-pages/schema-pages.ts'

/**
 * Registers gRPC server reflection: v1, and v1alpha for older tools.
 *
 * @param services that reflection lists in addition to itself.
 * @param extraFiles with types that no service names but responses may contain, such as the details
 *   of errors.
 */
export function registerReflection(
  router: ConnectRouter,
  services: readonly DescService[],
  extraFiles: readonly DescFile[] = [],
): void {
  // Few servers are asked, and the index of all types takes a part of the time of a start.
  let answers: ReturnType<typeof createAnswers> | undefined
  router.service(ServerReflection, {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) yield responseTo(request)
    },
  })
  router.service(ServerReflectionAlpha, {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) yield responseTo(request)
    },
  })

  function responseTo<T extends { host: string; messageRequest: Question }>(request: T) {
    answers ??= createAnswers([...services, ServerReflection, ServerReflectionAlpha], extraFiles)
    return {
      validHost: request.host,
      originalRequest: request,
      messageResponse: answers(request.messageRequest),
    }
  }
}

/** `message_request`: the same in both versions. */
type Question =
  | { case: 'fileByFilename'; value: string }
  | { case: 'fileContainingSymbol'; value: string }
  | { case: 'fileContainingExtension'; value: { containingType: string; extensionNumber: number } }
  | { case: 'allExtensionNumbersOfType'; value: string }
  | { case: 'listServices'; value: string }
  | { case: undefined; value?: undefined }

/** `message_response`: the same in both versions. */
type Answer =
  | { case: 'fileDescriptorResponse'; value: { fileDescriptorProto: Uint8Array[] } }
  | {
      case: 'allExtensionNumbersResponse'
      value: { baseTypeName: string; extensionNumber: number[] }
    }
  | { case: 'listServicesResponse'; value: { service: { name: string }[] } }
  | { case: 'errorResponse'; value: { errorCode: Code; errorMessage: string } }

type Type = DescMessage | DescEnum | DescExtension | DescService

function createAnswers(
  services: readonly DescService[],
  extraFiles: readonly DescFile[],
): (question: Question) => Answer {
  const files = withImports([...services.map(({ file }) => file), ...extraFiles])
  const types = files.flatMap((file) => [...nestedTypes(file)])
  const filesByName = new Map(files.map((file) => [file.proto.name, file]))
  const filesBySymbol = new Map(
    types.flatMap((desc) => symbolsOf(desc).map((symbol) => [symbol, desc.file])),
  )
  const extensions = extensionsByMessage(types)
  const service = services
    .map(({ typeName: name }) => ({ name }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))

  return (question) => {
    switch (question.case) {
      case 'listServices':
        return { case: 'listServicesResponse', value: { service } }
      case 'fileByFilename':
        return fileAnswer(filesByName.get(question.value), `file ${question.value}`)
      case 'fileContainingSymbol':
        return fileAnswer(filesBySymbol.get(question.value), `symbol ${question.value}`)
      case 'fileContainingExtension': {
        const { containingType, extensionNumber } = question.value
        const file = extensions.get(containingType)?.get(extensionNumber)
        return fileAnswer(file, `extension ${extensionNumber} of ${containingType}`)
      }
      case 'allExtensionNumbersOfType': {
        const numbers = extensions.get(question.value)
        if (numbers === undefined)
          return errorAnswer(Code.NotFound, `message ${question.value} not found`)
        const extensionNumber = [...numbers.keys()].sort((a, b) => a - b)
        return {
          case: 'allExtensionNumbersResponse',
          value: { baseTypeName: question.value, extensionNumber },
        }
      }
      case undefined:
        return errorAnswer(Code.InvalidArgument, 'the request asks for nothing')
    }
  }
}

function fileAnswer(file: DescFile | undefined, what: string): Answer {
  if (file === undefined) return errorAnswer(Code.NotFound, `${what} not found`)
  const fileDescriptorProto = withImports([file]).map((desc) =>
    toBinary(FileDescriptorProtoSchema, protoOf(desc)),
  )
  return { case: 'fileDescriptorResponse', value: { fileDescriptorProto } }
}

function errorAnswer(errorCode: Code, errorMessage: string): Answer {
  return { case: 'errorResponse', value: { errorCode, errorMessage } }
}

/** Returns the files and all their direct and indirect imports, each once. */
function withImports(files: readonly DescFile[]): DescFile[] {
  // The iteration of a set includes values that are added meanwhile.
  const found = new Set(files)
  for (const file of found) for (const imported of file.dependencies) found.add(imported)
  return [...found]
}

/**
 * Returns the full names of a type and its members. By the scopes of descriptor.proto, a value of
 * an enum is a sibling of the enum.
 */
function symbolsOf(desc: Type): string[] {
  const { typeName } = desc
  switch (desc.kind) {
    case 'message':
      return [
        typeName,
        ...[...desc.fields, ...desc.oneofs].map(({ name }) => `${typeName}.${name}`),
      ]
    case 'enum': {
      const scope = typeName.slice(0, -desc.name.length)
      return [typeName, ...desc.values.map(({ name }) => scope + name)]
    }
    case 'service':
      return [typeName, ...desc.methods.map(({ name }) => `${typeName}.${name}`)]
    case 'extension':
      return [typeName]
  }
}

/** Returns the files that declare the extensions of each message, by field number. */
function extensionsByMessage(types: readonly Type[]): Map<string, Map<number, DescFile>> {
  const index = new Map<string, Map<number, DescFile>>()
  for (const desc of types) if (desc.kind === 'message') index.set(desc.typeName, new Map())
  for (const desc of types) {
    if (desc.kind === 'extension') index.get(desc.extendee.typeName)?.set(desc.number, desc.file)
  }
  return index
}
