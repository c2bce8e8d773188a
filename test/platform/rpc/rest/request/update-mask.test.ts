import { create, type Message } from '@bufbuild/protobuf'
import { FieldMaskSchema } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { compileMaskDeriver } from '../../../../../src/platform/rpc/rest/request/request-reader.ts'
import { fieldsOf } from '../../../../../src/platform/rpc/text/message-fields.ts'
import { compileSchema, methodOf, serviceOf } from '../schema.ts'

const methods = serviceOf(
  compileSchema(`
    syntax = "proto3";
    package test;
    import "rest/v1/rest.proto";
    import "google/api/annotations.proto";
    import "google/api/field_behavior.proto";
    import "google/protobuf/field_mask.proto";
    import "google/protobuf/timestamp.proto";
    message Book {
      string name = 1 [(google.api.field_behavior) = IDENTIFIER];
      string long_title = 2;
      Author author = 3;
      repeated Author editors = 4;
      map<string, string> labels = 5;
      google.protobuf.Timestamp print_time = 6;
      google.protobuf.Timestamp update_time = 7 [(google.api.field_behavior) = OUTPUT_ONLY];
    }
    message Author { string full_name = 1; Author pupil = 2; }
    message Request { Book book = 1; google.protobuf.FieldMask update_mask = 2; string note = 3; }
    service S {
      rpc Update(Request) returns (Book) { option (rest.v1.method) = {update_mask: "update_mask"}; }
      rpc Wrong(Request) returns (Book) { option (rest.v1.method) = {update_mask: "note"}; }
      rpc Missing(Request) returns (Book) { option (rest.v1.method) = {update_mask: "mask"}; }
      rpc Plain(Request) returns (Book);
    }
  `),
  'test.S',
)
const update = methodOf(methods, 'Update')

function derive(body: string, request: Message = create(update.input)): unknown {
  compileMaskDeriver(update, 'book')?.(request, Buffer.from(body))
  return fieldsOf(request).updateMask
}

describe('a derived mask', () => {
  it.each([
    ['{"longTitle": "x"}', ['long_title']],
    ['{"long_title": "x"}', ['long_title']],
    // Present is present: these clear the field.
    ['{"longTitle": "", "author": null}', ['long_title', 'author']],
    ['{"author": {"fullName": "x"}}', ['author.full_name']],
    ['{"author": {"pupil": {"fullName": "x"}}}', ['author.pupil.full_name']],
    [
      '{"editors": [{"fullName": "x"}], "labels": {"a": "b"}, "printTime": "2026-05-01T10:00:00Z"}',
      ['editors', 'labels', 'print_time'],
    ],
    // What comes back with the resource is not meant.
    ['{"name": "books/1", "updateTime": "2026-05-01T10:00:00Z", "longTitle": "x"}', ['long_title']],
    // For the method to refuse.
    ['{"subtitle": "x", "__proto__": 1}', ['subtitle', '__proto__']],
    ['{"author": {"nickname": "x"}}', ['author.nickname']],
    ['{}', []],
    ['', []],
    ['null', []],
  ])('has the members of %s', (body, paths) => {
    expect(derive(body)).toEqual(create(FieldMaskSchema, { paths }))
  })

  it('does not replace a mask of the request, even an empty one', () => {
    const given = create(update.input)
    fieldsOf(given).updateMask = create(FieldMaskSchema)
    expect(derive('{"longTitle": "x"}', given)).toEqual(create(FieldMaskSchema))
  })

  it('does not exist for methods without the option or without a message as body', () => {
    expect(compileMaskDeriver(methodOf(methods, 'Plain'), 'book')).toBeUndefined()
    expect(compileMaskDeriver(update, '*')).toBeUndefined()
    expect(compileMaskDeriver(update, '')).toBeUndefined()
  })

  it.each(['Wrong', 'Missing'])('requires a mask field: %s', (name) => {
    expect(() => compileMaskDeriver(methodOf(methods, name), 'book')).toThrow(`test.S.${name}`)
  })
})
