import uuid

INSTANCE = uuid.uuid4()  # finds: id


def new_id():
    return "s-" + uuid.uuid4().hex[:4]  # finds: id
