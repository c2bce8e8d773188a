import { describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { Health } from '#gen/health/v1/health_pb.ts'
import { accessProblems } from '../../../src/edge/authentication/access-rules.ts'
import { compileSchema, serviceOf } from '../../platform/rpc/rest/schema.ts'

const schemaOf = (options: string, stream = '') =>
  serviceOf(
    compileSchema(`
      syntax = "proto3";
      package test;
      import "branchline/access/v1/access.proto";
      message Inner { string name = 1; int32 number = 2; }
      message Request { string name = 1; Inner inner = 2; }
      message Response {}
      service S { rpc Do(Request) returns (${stream} Response) { ${options} } }
    `),
    'test.S',
  )

const access = (text: string) => `option (branchline.access.v1.access) = {${text}};`

describe('the access option', () => {
  it('is valid on every method of the server', () => {
    expect(accessProblems([...UserService.methods, ...AuthService.methods])).toEqual([])
  })

  it('is reported as missing on methods without it', () => {
    expect(accessProblems(Health.methods)).toEqual(
      Health.methods.map(({ name }) => `grpc.health.v1.Health.${name} has no access option`),
    )
  })

  it.each([
    ['', 'no access option'],
    [access('scope: "read:user"'), 'no access option'],
    [access('audience: PUBLIC scope: "user"'), 'is no scope'],
    [access('audience: SELF'), 'do not fit'],
    [access('audience: PUBLIC owner: "name"'), 'do not fit'],
    [access('audience: SELF owner: "names"'), 'no field names'],
    [access('audience: SELF owner: "inner"'), 'no field inner'],
    [access('audience: SELF owner: "name.first"'), 'no field name.first'],
  ])('is reported as invalid if it is %j', (options, problem) => {
    expect(accessProblems(schemaOf(options).methods)).toEqual([expect.stringContaining(problem)])
  })

  it('cannot name the owner in a client stream', () => {
    expect(
      accessProblems(schemaOf(access('audience: SELF owner: "name"'), 'stream').methods),
    ).toEqual([expect.stringContaining('cannot be checked')])
  })

  it('may name an owner in a nested message of the request', () => {
    expect(accessProblems(schemaOf(access('audience: SELF owner: "inner.name"')).methods)).toEqual(
      [],
    )
  })
})
