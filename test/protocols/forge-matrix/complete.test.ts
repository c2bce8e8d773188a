import { type DescMethod, getOption } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { Audience, access } from '#gen/branchline/access/v1/access_pb.ts'
import { ACCOUNT_ROWS } from './account-rows.ts'
import { isOfForge, routesOf, servedMethods } from './ask.ts'
import { ORGANIZATION_ROWS } from './organization-rows.ts'
import { nameOf } from './refusals.ts'
import { REPOSITORY_ROWS } from './repository-rows.ts'

const ROWS = [...ACCOUNT_ROWS, ...ORGANIZATION_ROWS, ...REPOSITORY_ROWS]
const served = await servedMethods()
const hasField = ({ input }: DescMethod, name: string) =>
  input.fields.some((field) => field.name === name)
const hasRoute = (method: DescMethod, part: string) =>
  routesOf(method).some(({ template }) => template.includes(part))

function missingIn(
  rows: readonly { readonly method: DescMethod }[],
  isAbout: (method: DescMethod) => boolean,
): string[] {
  return served
    .filter((method) => isAbout(method) && !rows.some((row) => row.method === method))
    .map(nameOf)
}

describe('the matrix', () => {
  it('has every method of the forge once', () => {
    expect(missingIn(ROWS, isOfForge)).toEqual([])
    expect(new Set(ROWS.map(({ method }) => method)).size).toBe(ROWS.length)
  })

  it('groups methods with a repository by the required access', () => {
    // Administrators of the instance need no access to the repository.
    const isAboutOne = (method: DescMethod) =>
      getOption(method, access).audience !== Audience.ADMINISTRATORS &&
      ((hasField(method, 'repo') && !hasField(method, 'org')) ||
        hasRoute(method, '/repositories/{'))
    expect(missingIn(REPOSITORY_ROWS, isAboutOne)).toEqual([])
  })

  it('groups methods with an organisation or a team by the required access', () => {
    const isAboutOne = (method: DescMethod) =>
      hasField(method, 'org') || hasRoute(method, '/teams/{id}')
    expect(missingIn(ORGANIZATION_ROWS, isAboutOne)).toEqual([])
  })
})
