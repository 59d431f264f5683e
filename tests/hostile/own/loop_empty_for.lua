-- expect: disabled, reason=budget
for i = math.mininteger, math.maxinteger do end
