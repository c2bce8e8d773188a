import { create } from '@bufbuild/protobuf'
import { expect, it } from 'vitest'
import { State } from '#gen/branchline/v1/state_pb.ts'
import { User_Role, UserSchema } from '#gen/branchline/v1/user_pb.ts'
import { userMessage } from '../../../../src/forge/accounts/users/accounts.message.ts'
import { atSecond } from '../../../../src/forge/core/wire/times.ts'
import { addUser, testApp } from '../../../support/app.ts'

it('the message of an account is what protobuf-es creates', async () => {
  const app = await testApp()
  const ada = await addUser(app, 'ada', {
    display_name: 'Ada',
    email: 'ada@example.org',
  })
  const expected = create(UserSchema, {
    name: 'users/ada',
    role: User_Role.USER,
    username: 'ada',
    email: 'ada@example.org',
    displayName: 'Ada',
    state: State.NORMAL,
    createTime: atSecond(ada.create_time),
    updateTime: atSecond(ada.update_time),
    id: ada.id,
    login: 'ada',
    fullName: 'Ada',
    htmlUrl: `${app.publicUrl()}/ada`,
    created: atSecond(ada.create_time),
  })
  expect(userMessage(app, ada, { kind: 'creator' })).toStrictEqual(expected)
})
