import { type DescMethod, getOption } from '@bufbuild/protobuf'
import { ConnectError, type Interceptor } from '@connectrpc/connect'
import { access } from '#gen/branchline/access/v1/access_pb.ts'
import { failures, generalFailures } from '#gen/failures.ts'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'

/** Throws if a method answered with a reason that neither the method nor its access rule declares. */
export function expectDeclared(method: DescMethod, reason: string | undefined): void {
  const name = `${method.parent.typeName}.${method.name}`
  const listed = failures.get(name)
  if (reason === undefined || listed === undefined) return
  const declared = [...listed, ...generalFailures].map((failure) => failure.reason)
  if (declared.includes(reason) || reasonsOfAccess(method).includes(reason)) return
  throw new Error(`${name} answers ${reason}, which its option fails_with does not declare`)
}

/** The reasons that the access rule of a method declares. */
function reasonsOfAccess(method: DescMethod): readonly string[] {
  const { owner, sessionOnly, passwordOnly } = getOption(method, access)
  return [
    ...(owner === '' ? [] : ['USER_NOT_FOUND']),
    ...(sessionOnly ? ['SESSION_REQUIRED'] : []),
    ...(passwordOnly ? ['PASSWORD_REQUIRED'] : []),
  ]
}

/** Lets a call fail with another error if the method does not declare the reason of its failure. */
export const declaredFailuresOnly: Interceptor = (next) => async (request) => {
  const check = (thrown: unknown) => {
    const [info] = ConnectError.from(thrown).findDetails(ErrorInfoSchema)
    expectDeclared(request.method, info?.reason)
    return thrown
  }
  try {
    const response = await next(request)
    return response.stream ? { ...response, message: checked(response.message, check) } : response
  } catch (thrown) {
    throw check(thrown)
  }
}

async function* checked<T>(messages: AsyncIterable<T>, check: (thrown: unknown) => unknown) {
  try {
    yield* messages
  } catch (thrown) {
    throw check(thrown)
  }
}
